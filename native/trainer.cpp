#include "trainer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace cotm {

namespace {

// The clauses of one thread of several.
ClauseRange split(uint32_t n, unsigned thread, unsigned threads) {
  const uint32_t first = static_cast<uint32_t>(uint64_t{n} * thread / threads);
  return {first, static_cast<uint32_t>(uint64_t{n} * (thread + 1) / threads) - first};
}

constexpr size_t kLongRow = 8;          // words of literals from which rows are paid in arrears
constexpr size_t kAhead = 6;            // clauses between fetching a row and using it
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

// Feedback of very many outputs to one clause: the sum needs a wider type.
bool feedback_wide(const Feedback& f, const uint32_t* spread, const uint64_t* valid, size_t words,
                   int8_t* row, const RowBits& bits) {
  bool changed = false;
  std::fill_n(bits.include, words, 0);
  std::fill_n(bits.flipped, words, 0);
  std::fill_n(bits.low, words, 0);
  for (size_t l = 0; l < words * 64; ++l) {
    const bool truth = f.truth && (f.truth[l / 64] >> (l % 64) & 1);
    int32_t delta = 0;
    for (uint32_t k = 0; k < f.type1; ++k) {
      const uint32_t word = hash32_spread(f.keys[k], spread[l / 2]);
      const bool forget = (l % 2 ? word >> 16 : word & 0xFFFF) < f.q;
      if (truth) {
        delta += f.boost || !forget;
      } else {
        delta -= forget;
      }
    }
    if (f.truth && !truth && (valid[l / 64] >> (l % 64) & 1)) {
      delta += static_cast<int32_t>(f.type2);
    }
    const int32_t entry = std::clamp(row[l] + delta, -f.depth, f.depth - 1);
    const bool flips = (entry >= 0) != (row[l] >= 0);
    const uint64_t bit = uint64_t{1} << (l % 64);
    changed |= flips;
    if (flips) bits.flipped[l / 64] |= bit;
    if (entry >= 0) bits.include[l / 64] |= bit;
    if (entry >= 0 && entry < kLow) bits.low[l / 64] |= bit;
    row[l] = static_cast<int8_t>(entry);
  }
  return changed;
}

// distance * factor / full, at most 1, in units of 2^-32. A product beyond 64 bits is more than
// that: `full` has no more than 31.
uint64_t threshold(uint64_t distance, uint64_t factor, uint64_t full) {
  constexpr uint64_t kOne = uint64_t{1} << 32;
  uint64_t product;
  return __builtin_mul_overflow(distance, factor, &product) ? kOne : std::min(product / full, kOne);
}

}  // namespace

void VoteBoard::sum(size_t turn, int64_t* total) {
  std::fill_n(total, m_, 0);
  for (unsigned t = 0; t < threads_; ++t) {
    const int64_t* votes = of(t, turn);
    for (size_t i = 0; i < m_; ++i) total[i] += votes[i];
  }
}

Trainer::Trainer(Machine& machine, unsigned thread, unsigned threads)
    : machine_(machine),
      config_(machine.config_),
      kernels_(machine.kernels_),
      thread_(thread),
      range_(split(config_.n, thread, threads)),
      clause_words_(range_.words()),
      matcher_(machine, range_),
      total_(config_.m),
      negative_(config_.m * clause_words_),
      type1_(config_.m * clause_words_),
      type2_(config_.m * clause_words_),
      chosen_once_(clause_words_),
      chosen_again_(clause_words_),
      chooser_(range_.count),
      keys_(config_.m),
      include_(machine.words_),
      flipped_(machine.words_),
      low_(machine.words_),
      admitted_(config_.max_literals ? machine.words_ : 0) {
  // Short rows cost less than keeping account of debts.
  if (machine.layout().flat() && machine.words_ >= kLongRow &&
      machine.words_ * 64 <= Watched::kLiterals) {
    debts_ = Debts(range_.count, machine.words_);
  }
  // All of their memory now: in the middle of a step only a list may grow.
  active_.reserve(config_.m);
  chosen_.reserve(range_.count);
  if (config_.max_literals < 2 * size_t{config_.grid.features()}) {
    fresh_.reserve(config_.max_literals);
  }
  for (uint32_t j = 0; j < range_.count; ++j) {
    for (uint32_t i = 0; i < config_.m; ++i) {
      const int32_t w = machine.weights_[size_t{range_.first + j} * config_.m + i];
      negative_[i * clause_words_ + j / 64] |= static_cast<uint64_t>(w < 0) << (j % 64);
      largest_weight_ = std::max(largest_weight_, std::abs(int64_t{w}));
    }
  }
}

void Trainer::run(const TrainTask& task, size_t first, size_t last, VoteBoard& board,
                  Barrier& barrier) {
  counts = {};
  for (size_t turn = first; turn < last; ++turn) {
    const size_t index = static_cast<size_t>(task.order[turn]);
    const uint8_t* target = task.targets + index * config_.m;
    const uint64_t* scale = task.scales + (task.one_scale ? 0 : 2 * index);
    const uint64_t key = step_key(config_.seed, task.step + turn);

    fires_ = matcher_.match(task, turn);
    int64_t* votes = board.of(thread_, turn);
    std::fill_n(votes, config_.m, 0);
    kernels_.add_votes(fires_, range_.count,
                       machine_.weights_.data() + size_t{range_.first} * config_.m, config_.m,
                       largest_weight_, votes);
    if (!barrier.wait()) return;
    board.sum(turn, total_.data());
    count(target);
    select(target, scale, key);
    give_feedback(target, key);
  }
  for (uint32_t local = 0; local < range_.count; ++local) pay(local);
}

void Trainer::count(const uint8_t* target) {
  const auto best = std::max_element(total_.begin(), total_.end());
  counts.hits += target[best - total_.begin()];
  for (uint32_t i = 0; i < config_.m; ++i) counts.correct += (total_[i] >= 0) == (target[i] == 1);
}

void Trainer::select(const uint8_t* target, const uint64_t* scale, uint64_t key) {
  active_.clear();
  std::fill(chosen_once_.begin(), chosen_once_.end(), 0);
  std::fill(chosen_again_.begin(), chosen_again_.end(), 0);
  for (uint32_t i = 0; i < config_.m; ++i) {
    const int64_t votes = std::clamp(total_[i], -config_.T, config_.T);
    const uint64_t distance =
        static_cast<uint64_t>(target[i] ? config_.T - votes : config_.T + votes);
    const uint64_t full = 2 * static_cast<uint64_t>(config_.T);
    const uint64_t factor1 = config_.e_scales_type2 || target[i] ? scale[0] : scale[1];
    const uint64_t factor2 = config_.e_scales_type2 ? scale[1] : factor1;
    const uint64_t threshold1 = threshold(distance, factor1, full);
    const uint64_t threshold2 =
        factor2 == factor1 ? threshold1 : threshold(distance, factor2, full);
    if (threshold1 == 0 && threshold2 == 0) continue;

    uint64_t* type1 = type1_.data() + active_.size() * clause_words_;
    uint64_t* type2 = type2_.data() + active_.size() * clause_words_;
    const uint64_t* negative = negative_.data() + i * clause_words_;
    const Key select_key = make_key(key, Purpose::select, i, 0);
    kernels_.select(select_key, range_.first, range_.count, threshold1, type1);
    if (threshold2 == threshold1) {
      std::copy_n(type1, clause_words_, type2);
    } else {
      kernels_.select(select_key, range_.first, range_.count, threshold2, type2);
    }
    if (!config_.sharing) {  // an output selects among the clauses it owns
      for (uint32_t j = 0; j < range_.count; ++j) {
        if (uint64_t{range_.first + j} * config_.m / config_.n != i) {
          type1[j / 64] &= ~(uint64_t{1} << (j % 64));
          type2[j / 64] &= ~(uint64_t{1} << (j % 64));
        }
      }
    }
    for (size_t w = 0; w < clause_words_; ++w) {
      const uint64_t agrees = target[i] ? ~negative[w] : negative[w];
      type1[w] &= agrees;
      type2[w] &= ~agrees & fires_[w];  // Type II does nothing to a clause that did not fire
      const uint64_t chosen = type1[w] | type2[w];
      chosen_again_[w] |= chosen & chosen_once_[w];
      for (uint64_t bits = chosen & ~chosen_once_[w]; bits; bits &= bits - 1) {
        chooser_[64 * w + static_cast<size_t>(std::countr_zero(bits))] =
            static_cast<uint32_t>(active_.size());
      }
      chosen_once_[w] |= chosen;
    }
    active_.push_back(i);
  }
}

void Trainer::give_feedback(const uint8_t* target, uint64_t key) {
  chosen_.clear();
  for (size_t w = 0; w < clause_words_; ++w) {
    for (uint64_t bits = chosen_once_[w]; bits; bits &= bits - 1) {
      chosen_.push_back(static_cast<uint32_t>(64 * w) +
                        static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
  for (size_t k = 0; k < std::min(kAhead, chosen_.size()); ++k) prefetch(chosen_[k]);
  for (size_t k = 0; k < chosen_.size(); ++k) {
    if (k + kAhead < chosen_.size()) prefetch(chosen_[k + kAhead]);
    const uint32_t local = chosen_[k];
    machine_.touched_[range_.first + local] = 1;
    const size_t w = local / 64;
    const uint64_t bit = uint64_t{1} << (local % 64);
    const bool fires = fires_[w] & bit;
    const bool again = chosen_again_[w] & bit;  // by a second output; most are by one only
    if (!fires && !again && can_put_off(local, 1)) {
      put_off(local, make_key(key, Purpose::draw, active_[chooser_[local]], range_.first + local));
      continue;
    }
    Feedback feedback = no_feedback();
    for (size_t a = chooser_[local]; a < (again ? active_.size() : chooser_[local] + 1); ++a) {
      const bool type1 = type1_[a * clause_words_ + w] & bit;
      const bool type2 = type2_[a * clause_words_ + w] & bit;
      if (type1) {
        keys_[feedback.type1++] = make_key(key, Purpose::draw, active_[a], range_.first + local);
      }
      feedback.type2 += type2;
      if (fires && (type1 || type2)) move_weight(local, active_[a], target[active_[a]]);
    }
    if (fires) feedback.truth = matcher_.truth(local, key);
    update_row(feedback, local, key);
  }
}

// Rows are visited at random, so the processor does not foresee them; longer ones than this it
// follows by itself once it sees their beginning.
void Trainer::prefetch(uint32_t local) const {
  constexpr size_t kLines = 32;
  const auto fetch = [](const void* from, size_t lines) {
    for (size_t line = 0; line < lines; ++line) {
      __builtin_prefetch(static_cast<const char*>(from) + 64 * line, 1);
    }
  };
  if (!debts_.empty()) {
    const Debt& debt = debts_[local];
    fetch(debt.keys, 1);
    fetch(debt.watch, (debt.watched + 15) / 16);
    if (!(fires_[local / 64] >> (local % 64) & 1)) return;
  }
  fetch(row_of(local), std::min(machine_.words_, kLines));
}

RowBits Trainer::bits() { return {include_.data(), flipped_.data(), low_.data()}; }

int8_t* Trainer::row_of(uint32_t local) const {
  return machine_.memory_.data() + size_t{range_.first + local} * machine_.words_ * 64;
}

void Trainer::move_weight(uint32_t local, uint32_t output, bool up) {
  if (!config_.learn_weights) return;
  int32_t& weight = machine_.weights_[size_t{range_.first + local} * config_.m + output];
  int64_t moved = int64_t{weight} + (up ? 1 : -1);
  if (!config_.sharing) {  // a clause keeps its side
    if (weight > 0) moved = std::max<int64_t>(moved, 1);
    if (weight < 0) moved = std::min<int64_t>(moved, -1);
  }
  const int64_t limit = config_.max_weight;
  weight = static_cast<int32_t>(std::clamp(moved, -limit, limit));
  largest_weight_ = std::max(largest_weight_, std::abs(int64_t{weight}));
  uint64_t& negative = negative_[output * clause_words_ + local / 64];
  const uint64_t bit = uint64_t{1} << (local % 64);
  negative = weight < 0 ? negative | bit : negative & ~bit;
}

Feedback Trainer::no_feedback() const {
  return {nullptr,
          0,
          nullptr,
          keys_.data(),
          0,
          0,
          config_.q,
          config_.depth,
          config_.boost_true_positive};
}

void Trainer::update_row(Feedback& feedback, uint32_t local, uint64_t key) {
  if (!feedback.truth && can_put_off(local, feedback.type1)) {
    for (uint32_t k = 0; k < feedback.type1; ++k) put_off(local, feedback.keys[k]);
    return;
  }
  if (!debts_.empty()) {
    feedback.owed_keys = debts_[local].keys;
    feedback.owed = debts_[local].owed;
  }
  const uint32_t clause = range_.first + local;
  int8_t* row = row_of(local);
  bool changed;
  if (feedback.type1 > kNarrowDelta || feedback.type2 > kNarrowDelta) {
    pay(local);
    changed = feedback_wide(feedback, machine_.spread_.data(), machine_.valid_.data(),
                            machine_.words_, row, bits());
  } else {
    changed = kernels_.feedback(feedback, machine_.spread_.data(), machine_.valid_.data(),
                                machine_.words_, row, bits());
  }
  if (changed) {
    if (config_.max_literals) limit_literals(clause, row, key);
    const ListChange change =
        machine_.lists_.edit(clause, include_.data(), flipped_.data(), machine_.words_);
    if (change.added || change.removed) matcher_.list_changed(local, change);
  }
  if (!debts_.empty()) {
    debts_.start(local, row, low_.data());
  }
}

bool Trainer::can_put_off(uint32_t local, uint32_t more) const {
  return !debts_.empty() && debts_[local].owed + more <= debts_[local].limit;
}

void Trainer::put_off(uint32_t local, Key key) {
  Debt& debt = debts_[local];
  debt.keys[debt.owed++] = key;
  if (!kernels_.forget_watched(key, config_.q, debt.watched, debt.watch)) return;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < debt.watched; ++i) {
    const uint32_t word = debt.watch[i];
    if (Watched::fallen(word)) {
      machine_.lists_.remove(range_.first + local, Watched::literal(word));
    } else {
      debt.watch[kept++] = word;
    }
  }
  debt.watched = kept;
  Debts::fill_up(debt);
  matcher_.list_changed(local, {.added = false, .removed = true});
}

void Trainer::pay(uint32_t local) {
  if (debts_.empty() || !debts_[local].owed) return;
  Feedback nothing = no_feedback();
  nothing.owed_keys = debts_[local].keys;
  nothing.owed = debts_[local].owed;
  kernels_.feedback(nothing, machine_.spread_.data(), machine_.valid_.data(), machine_.words_,
                    row_of(local), bits());
  debts_[local].owed = debts_[local].limit = 0;
}

// Of the literals a full clause would newly include, those with the largest hashes stay out.
// Mostly it is full already and all of them do.
void Trainer::limit_literals(uint32_t clause, int8_t* row, uint64_t key) {
  size_t included = 0, fresh = 0;
  for (size_t w = 0; w < machine_.words_; ++w) {
    included += static_cast<size_t>(std::popcount(include_[w]));
    fresh += static_cast<size_t>(std::popcount(include_[w] & flipped_[w]));
  }
  if (included <= config_.max_literals) return;
  const size_t before = included - fresh;
  const size_t room = config_.max_literals > before ? config_.max_literals - before : 0;
  if (room) choose_fresh(clause, room, key);
  for (size_t w = 0; w < machine_.words_; ++w) {
    uint64_t out = include_[w] & flipped_[w];
    if (room) out &= ~admitted_[w];
    if (!out) continue;
    for (auto* bits : {&include_, &flipped_, &low_}) (*bits)[w] &= ~out;
    for (size_t k = 0; k < 8; ++k) {  // an entry of -1 has all bits set
      uint64_t entries;
      std::memcpy(&entries, row + 64 * w + 8 * k, 8);
      entries |= kBytes[(out >> (8 * k)) & 255];
      std::memcpy(row + 64 * w + 8 * k, &entries, 8);
    }
  }
}

// The literals with the smallest hashes, as many as there is room for, into admitted_.
void Trainer::choose_fresh(uint32_t clause, size_t room, uint64_t key) {
  const Key limit_key = make_key(key, Purpose::limit, 0, clause);
  fresh_.clear();  // a heap, the largest hash on top
  for (size_t w = 0; w < machine_.words_; ++w) {
    admitted_[w] = 0;
    for (uint64_t bits = include_[w] & flipped_[w]; bits; bits &= bits - 1) {
      const uint32_t l =
          static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
      const uint32_t position = l / 2 + (l % 2 ? config_.grid.features() : 0);
      const std::pair<uint32_t, uint32_t> candidate{hash32(limit_key, position), l};
      if (fresh_.size() == room) {
        if (candidate > fresh_.front()) continue;
        std::pop_heap(fresh_.begin(), fresh_.end());
        fresh_.pop_back();
      }
      fresh_.push_back(candidate);
      std::push_heap(fresh_.begin(), fresh_.end());
    }
  }
  for (const auto& [hash, l] : fresh_) admitted_[l / 64] |= uint64_t{1} << (l % 64);
}

Training::Slice Training::run(size_t first, size_t last, unsigned threads) {
  const std::unique_lock<StateLock> lock(machine_.state_lock_);
  machine_.require_whole();
  if (first == last) return {};
  if (first != done_ || changes_ != machine_.changes_) trainers_.clear();
  machine_.compiled_.reset();
  bool anew = false;
  const auto begin = [&](unsigned count) {
    anew = trainers_.size() != count;
    if (!anew) return;
    trainers_.clear();
    board_ = VoteBoard(count, machine_.config_.m);
    trainers_.resize(count);
  };
  const auto work = [&](unsigned t, Barrier& barrier) {
    // Here, so that every thread is the first to touch its own memory.
    if (!trainers_[t]) {
      trainers_[t] =
          std::make_unique<Trainer>(machine_, t, static_cast<unsigned>(trainers_.size()));
    }
    if (!barrier.wait()) return;
    if (t == 0) machine_.whole_ = false;
    trainers_[t]->run(task_, first, last, board_, barrier);
  };
  ++machine_.changes_;
  try {
    run_threads(std::min(threads, machine_.config_.n), begin, work);
  } catch (...) {
    trainers_.clear();
    throw;
  }
  machine_.whole_ = true;
  done_ = last;
  changes_ = machine_.changes_;
  return {trainers_[0]->counts, anew};
}

}  // namespace cotm
