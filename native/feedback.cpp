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
      include_(clauses.words),
      flipped_(clauses.words),
      near_edge_(clauses.words) {
  const Spec& spec = clauses.spec;
  if (!spec.max_literals) return;
  admitted_.resize(clauses.words);
  if (spec.max_literals < spec.grid.n_literals()) candidates_.reserve(spec.max_literals);
}

void RowUpdater::update(uint32_t local, Feedback& feedback, uint64_t step_key) {
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
    const ListChange change =
        clauses_.lists.edit(clause, include_.data(), flipped_.data(), clauses_.words);
    if (change.added || change.removed) matcher_.list_changed(local, change);
  }
  if (deferred_.is_used()) deferred_.start(local, near_edge_.data());
}

bool RowUpdater::give(const Feedback& feedback, int8_t* row) {
  return clauses_.kernels.feedback(feedback, clauses_.spread.data(), clauses_.valid.data(),
                                   clauses_.words, row, bits());
}

// Feedback of very many outputs to one clause: the sum needs a wider type than the kernels have.
bool RowUpdater::give_wide(const Feedback& f, int8_t* row) {
  bool changed = false;
  for (auto* bits : {&include_, &flipped_, &near_edge_}) std::fill(bits->begin(), bits->end(), 0);
  for (size_t l = 0; l < clauses_.row_entries(); ++l) {
    const bool truth = f.truth && has_bit(f.truth, l);
    int32_t delta = 0;
    const bool open = f.truth && !truth && row[l] < 0 && has_bit(clauses_.valid.data(), l);
    if (f.sampled) {
      delta += truth && f.grows ? static_cast<int32_t>(f.type1) : 0;
      delta -= open ? static_cast<int32_t>(f.type1) : 0;
    }
    for (uint32_t k = 0; !f.sampled && k < f.type1; ++k) {
      const uint32_t word = hash32_spread(f.keys[k], clauses_.spread[l / 2]);
      const bool forget = (l % 2 ? word >> 16 : word & 0xFFFF) < f.q;
      if (truth) {
        delta += f.grows && (f.boost_true_positive || !forget);
      } else {
        delta -= forget;
      }
    }
    if (open) delta += static_cast<int32_t>(f.type2);
    const int32_t entry = std::clamp(row[l] + delta, -f.N, f.top);
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
  const size_t features = spec.grid.n_features();
  const uint64_t literals = spec.grid.n_literals();
  const uint64_t more = hash32(key, 0xFFFFFFFFu) >> 16;  // whether there is one pick more
  const uint64_t picks = static_cast<uint64_t>(spec.picks);
  const uint64_t count = picks / 65536 + (more < picks % 65536);
  int8_t* const entries = row(local);
  bool removed = false;
  for (uint32_t k = 0; k < count; ++k) {
    const size_t outer = hash32(key, k) * literals >> 32;
    const bool negated = outer >= features;
    const size_t l = inner_literal(negated ? outer - features : outer, negated);
    if (entries[l] == -spec.N) continue;
    if (entries[l]-- == 0) {
      exclude(local, static_cast<uint32_t>(l));
      removed = true;
    }
  }
  if (removed) matcher_.list_changed(local, {.added = false, .removed = true});
}

// Takes a literal whose entry fell below 0 out of the clause's list.
void RowUpdater::exclude(uint32_t local, uint32_t literal) {
  const uint32_t clause = range_.first + local;
  if (literal < clauses_.layout.position_literals()) {
    clauses_.list_literals(clause, include_.data());
  } else {
    clauses_.lists.remove(clause, literal);
  }
}

void RowUpdater::pay(uint32_t local) {
  Feedback feedback = no_feedback(range_.first + local);
  deferred_.add_owed(local, feedback);
  if (!feedback.owed) return;
  give(feedback, row(local));
  deferred_.stop(local);
}

void RowUpdater::pay_all() {
  for (uint32_t local = 0; local < range_.count; ++local) pay(local);
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
