#include "feedback.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "bits.hpp"

namespace cotm {

namespace {

constexpr uint32_t kNarrowDelta = 127;  // more outputs than this overflow an int8 delta

// Eight bits as eight bytes of zeros or ones.
constexpr std::array<uint64_t, 256> kBytes = [] {
  std::array<uint64_t, 256> table{};
  for (size_t bits = 0; bits < 256; ++bits) {
    std::array<uint8_t, 8> bytes{};
    for (size_t k = 0; k < 8; ++k) bytes[k] = bits >> k & 1 ? 255 : 0;
    table[bits] = std::bit_cast<uint64_t>(bytes);
  }
  return table;
}();

}  // namespace

RowUpdater::RowUpdater(Clauses& clauses, ClauseRange range, Matcher& matcher)
    : clauses_(clauses),
      range_(range),
      matcher_(matcher),
      deferred_(clauses, range, matcher),
      picks_owed_(clauses, range),
      include_(clauses.words),
      flipped_(clauses.words),
      near_edge_(clauses.words) {
  const Spec& spec = clauses.spec;
  if (spec.is_sampled() || matcher.counts_misses()) {
    changed_.reserve(clauses.words);
    joined_.reserve(spec.grid.n_literals());
    left_.reserve(spec.grid.n_literals());
    excluded_.reserve(spec.grid.n_literals());
  }
  if (!spec.max_literals) return;
  admitted_.resize(clauses.words);
  if (spec.max_literals < spec.grid.n_literals()) candidates_.reserve(spec.max_literals);
}

void RowUpdater::update(uint32_t local, Feedback& feedback, uint64_t step_key) {
  if (clauses_.spec.is_sampled()) return update_plain(local, feedback, step_key);
  if (!feedback.truth && deferred_.can_put_off(local, feedback.type1)) {
    for (uint32_t k = 0; k < feedback.type1; ++k) deferred_.put_off(local, feedback.keys[k]);
    return;
  }
  int8_t* const entries = row(local);
  bool changed;
  if (feedback.type1 > kNarrowDelta || feedback.type2 > kNarrowDelta) {
    pay(local);
    changed = give_wide(feedback, entries);
  } else {
    deferred_.add_owed(local, feedback);
    changed = give(feedback, entries);
  }
  if (changed) {
    const uint32_t clause = range_.first + local;
    if (clauses_.spec.max_literals) limit_literals(clause, entries, step_key);
    if (matcher_.counts_misses()) {
      changed_.clear();
      for (uint32_t w = 0; w < clauses_.words; ++w) {
        if (flipped_[w]) changed_.push_back(w);
      }
      move_flipped(local);
    } else {
      clauses_.keep_awake(include_.data());
      const ListChange change =
          clauses_.lists.edit(clause, include_.data(), flipped_.data(), clauses_.words);
      if (change.added || change.removed) matcher_.list_changed(local, change);
    }
  }
  if (deferred_.is_used()) deferred_.start(local, near_edge_.data());
}

// Where forgetting is sampled: feedback to a clause that fires.
void RowUpdater::update_plain(uint32_t local, const Feedback& feedback, uint64_t step_key) {
  picks_owed_.pay(local);
  int8_t* const entries = row(local);
  const bool limited = clauses_.spec.max_literals != 0;
  if (limited) std::fill(flipped_.begin(), flipped_.end(), 0);
  if (!give_plain(feedback, entries)) return;
  if (limited) {
    clauses_.kernels.include_bits(entries, clauses_.words, include_.data());
    limit_literals(range_.first + local, entries, step_key);
  }
  move_flipped(local);
}

// Brings what depends on a clause's literals up to date with the changed_ words.
void RowUpdater::move_flipped(uint32_t local) {
  joined_.clear();
  left_.clear();
  for (const uint32_t w : changed_) {
    for (const uint32_t k : SetBits{flipped_[w]}) {
      (include_[w] >> k & 1 ? joined_ : left_).push_back(64 * w + k);
    }
  }
  picks_owed_.joined(local, joined_);
  literals_flipped(local, joined_, left_);
}

// Fills changed_; returns whether a literal flipped.
bool RowUpdater::give_plain(const Feedback& f, int8_t* row) {
  if (f.type1 > kNarrowDelta || f.type2 > kNarrowDelta) {
    give_wide(f, row);
    changed_.clear();
    for (uint32_t w = 0; w < clauses_.words; ++w) {
      if (flipped_[w]) changed_.push_back(w);
    }
    return !changed_.empty();
  }
  const PlainFeedback plain{
      .truth = f.truth,
      .to_true = static_cast<int8_t>(f.grows ? f.type1 : 0),
      .to_open = static_cast<int8_t>(static_cast<int32_t>(f.type2) - static_cast<int32_t>(f.type1)),
      .floor = static_cast<int8_t>(-f.N),
      .top = static_cast<int8_t>(f.top)};
  changed_.resize(clauses_.words);
  changed_.resize(clauses_.kernels.plain_feedback(plain, clauses_.awake.data(), clauses_.words, row,
                                                  bits(), changed_.data()));
  return !changed_.empty();
}

// Brings the clause's list, and what it says of examples ahead, up to date.
void RowUpdater::literals_flipped(uint32_t local, const std::vector<uint32_t>& joined,
                                  const std::vector<uint32_t>& left) {
  if (joined.empty() && left.empty()) return;
  if (matcher_.counts_misses()) return matcher_.move(local, joined, left);
  clauses_.move_literals(range_.first + local, joined, left, include_.data());
  matcher_.list_changed(local, {.added = !joined.empty(), .removed = !left.empty()});
}

bool RowUpdater::give(const Feedback& feedback, int8_t* row) {
  return clauses_.kernels.feedback(feedback, clauses_.spread.data(), clauses_.awake.data(),
                                   clauses_.words, row, bits());
}

// Feedback of very many outputs to one clause: the sum needs a wider type than the kernels have.
bool RowUpdater::give_wide(const Feedback& f, int8_t* row) {
  const bool sampled = clauses_.spec.is_sampled();
  bool changed = false;
  for (auto* bits : {&include_, &flipped_, &near_edge_}) std::fill(bits->begin(), bits->end(), 0);
  for (size_t l = 0; l < clauses_.row_entries(); ++l) {
    const bool truth = f.truth && has_bit(f.truth, l);
    int32_t delta = 0;
    const bool awake = has_bit(clauses_.awake.data(), l);
    const bool open = f.truth && !truth && row[l] < 0;
    if (sampled) {
      delta += truth && f.grows ? static_cast<int32_t>(f.type1) : 0;
      delta -= open ? static_cast<int32_t>(f.type1) : 0;
    }
    for (uint32_t k = 0; !sampled && k < f.type1; ++k) {
      const uint32_t word = hash32_spread(f.keys[k], clauses_.spread[l / 2]);
      const bool forget = (l % 2 ? word >> 16 : word & 0xFFFF) < f.q;
      if (truth) {
        delta += f.grows && (f.boost_true_positive || !forget);
      } else {
        delta -= forget;
      }
    }
    if (open) delta += static_cast<int32_t>(f.type2);
    const int32_t entry = std::clamp(row[l] + (awake ? delta : 0), -f.N, f.top);
    const bool flips = (entry >= 0) != (row[l] >= 0);
    changed |= flips;
    if (flips) flipped_[l / 64] |= bit_of(l);
    if (entry >= 0) include_[l / 64] |= bit_of(l);
    if (entry >= 0 && entry < kMostOwed) near_edge_[l / 64] |= bit_of(l);
    row[l] = static_cast<int8_t>(entry);
  }
  return changed;
}

void RowUpdater::forget_some(uint32_t local, Key key) {
  const Spec& spec = clauses_.spec;
  if (picks_owed_.is_used()) {
    picks_owed_.put_off(local, key, excluded_);
    literals_flipped(local, {}, excluded_);
    return excluded_.clear();
  }
  const uint32_t count = pick_count(spec, key);
  const int8_t* const entries = row(local);
  for (uint32_t first = 0; first < count; first += Picks::kMost) {
    Picks& next = picks_[turn_];
    next.local = local;
    next.count = std::min(count - first, Picks::kMost);
    next.last = first + next.count == count;
    clauses_.kernels.pick(key, first, next.count, spec.grid.n_features(), next.literals);
    for (uint32_t k = 0; k < next.count; ++k) {
      prefetch_to_write(entries + next.literals[k]);
    }
    turn_ = !turn_;
    forget(picks_[turn_]);
    picks_[turn_].count = 0;
  }
}

void RowUpdater::forget_rest() {
  forget(picks_[!turn_]);
  picks_[!turn_].count = 0;
}

void RowUpdater::forget(const Picks& picks) {
  int8_t* const entries = row(picks.local);
  const int8_t floor = static_cast<int8_t>(-clauses_.spec.N);
  uint32_t excluded[Picks::kMost];
  uint32_t count = 0;
  for (uint32_t k = 0; k < picks.count; ++k) {  // without branches: which of them hit is random
    const uint32_t l = picks.literals[k];
    int8_t& entry = entries[l];
    const bool awake = has_bit(clauses_.awake.data(), l);
    excluded[count] = l;
    count += awake & (entry == 0);
    entry = static_cast<int8_t>(entry - (awake & (entry != floor)));
  }
  excluded_.insert(excluded_.end(), excluded, excluded + count);
  if (!picks.last) return;
  literals_flipped(picks.local, {}, excluded_);
  excluded_.clear();
}

void RowUpdater::pay(uint32_t local) {
  Feedback feedback = no_feedback(range_.first + local);
  deferred_.add_owed(local, feedback);
  if (!feedback.owed) return;
  give(feedback, row(local));
  deferred_.stop(local);
}

void RowUpdater::pay_all() {
  for (uint32_t local = 0; local < range_.count; ++local) {
    pay(local);
    picks_owed_.pay(local);
  }
}

// Of the literals a full clause would newly include, those with the largest hashes stay out.
// Mostly it is full already and all of them do.
void RowUpdater::limit_literals(uint32_t clause, int8_t* row, uint64_t step_key) {
  const size_t limit = clauses_.spec.max_literals, words = clauses_.words;
  size_t included = 0, fresh = 0;
  for (size_t w = 0; w < words; ++w) {
    included += static_cast<size_t>(std::popcount(include_[w]));
    fresh += static_cast<size_t>(std::popcount(include_[w] & flipped_[w]));
  }
  if (included <= limit) return;
  const size_t before = included - fresh;
  const size_t room = limit > before ? limit - before : 0;
  if (room) choose_admitted(clause, room, step_key);
  for (size_t w = 0; w < words; ++w) {
    uint64_t out = include_[w] & flipped_[w];
    if (room) out &= ~admitted_[w];
    if (!out) continue;
    for (auto* bits : {&include_, &flipped_, &near_edge_}) (*bits)[w] &= ~out;
    for (size_t k = 0; k < 8; ++k) {  // an entry of -1 has all bits set
      uint64_t entries;
      std::memcpy(&entries, row + 64 * w + 8 * k, 8);
      entries |= kBytes[(out >> (8 * k)) & 255];
      std::memcpy(row + 64 * w + 8 * k, &entries, 8);
    }
  }
}

// The literals with the smallest hashes, as many as there is room for, into admitted_.
void RowUpdater::choose_admitted(uint32_t clause, size_t room, uint64_t step_key) {
  const Key key = make_key(step_key, Purpose::limit, 0, clause);
  const size_t features = clauses_.spec.grid.n_features();
  candidates_.clear();  // a heap, the largest hash on top
  for (size_t w = 0; w < clauses_.words; ++w) {
    admitted_[w] = 0;
    for (const uint32_t k : SetBits{include_[w] & flipped_[w]}) {
      const uint32_t l = static_cast<uint32_t>(64 * w) + k;
      const size_t position = outer_literal(l / 2, l % 2, features);
      const std::pair<uint32_t, uint32_t> candidate{hash32(key, static_cast<uint32_t>(position)),
                                                    l};
      if (candidates_.size() == room) {
        if (candidate > candidates_.front()) continue;
        std::pop_heap(candidates_.begin(), candidates_.end());
        candidates_.pop_back();
      }
      candidates_.push_back(candidate);
      std::push_heap(candidates_.begin(), candidates_.end());
    }
  }
  for (const auto& [hash, l] : candidates_) admitted_[l / 64] |= bit_of(l);
}

}  // namespace cotm
