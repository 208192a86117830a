#include "trainer.hpp"

#include <algorithm>
#include <bit>

namespace cotm {

namespace {

// The clauses of one thread of several.
ClauseRange split(uint32_t n, unsigned thread, unsigned threads) {
  const uint32_t first = static_cast<uint32_t>(uint64_t{n} * thread / threads);
  return {first, static_cast<uint32_t>(uint64_t{n} * (thread + 1) / threads) - first};
}

constexpr uint32_t kNarrowDelta = 127;  // more outputs than this overflow an int8 delta

// Feedback of very many outputs to one clause: the sum needs a wider type.
bool feedback_wide(const Feedback& f, const uint32_t* spread, const uint64_t* valid, size_t words,
                   int8_t* row, uint64_t* include, uint64_t* flipped) {
  bool changed = false;
  std::fill_n(include, words, 0);
  std::fill_n(flipped, words, 0);
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
    changed |= flips;
    flipped[l / 64] |= static_cast<uint64_t>(flips) << (l % 64);
    row[l] = static_cast<int8_t>(entry);
    include[l / 64] |= static_cast<uint64_t>(entry >= 0) << (l % 64);
  }
  return changed;
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
      keys_(config_.m),
      include_(machine.words_),
      flipped_(machine.words_) {
  if (config_.max_literals) row_before_.resize(machine.words_ * 64);
  for (uint32_t j = 0; j < range_.count; ++j) {
    for (uint32_t i = 0; i < config_.m; ++i) {
      const int32_t w = machine.weights_[size_t{range_.first + j} * config_.m + i];
      negative_[i * clause_words_ + j / 64] |= static_cast<uint64_t>(w < 0) << (j % 64);
    }
  }
}

void Trainer::run(const TrainTask& task, VoteBoard& board, Barrier& barrier) {
  for (size_t turn = 0; turn < task.count; ++turn) {
    const size_t index = static_cast<size_t>(task.order[turn]);
    const uint8_t* target = task.targets + index * config_.m;
    const uint64_t* scale = task.scales + (task.one_scale ? 0 : 2 * index);
    const uint64_t key = step_key(config_.seed, task.step + turn);

    fires_ = matcher_.match(task, turn);
    int64_t* votes = board.of(thread_, turn);
    std::fill_n(votes, config_.m, 0);
    kernels_.add_votes(fires_, range_.count,
                       machine_.weights_.data() + size_t{range_.first} * config_.m, config_.m,
                       config_.m, votes);
    barrier.wait();
    board.sum(turn, total_.data());
    count(target);
    select(target, scale, key);
    give_feedback(target, key);
  }
}

void Trainer::count(const uint8_t* target) {
  const auto best = std::max_element(total_.begin(), total_.end());
  counts.hits += target[best - total_.begin()];
  for (uint32_t i = 0; i < config_.m; ++i) counts.correct += (total_[i] >= 0) == (target[i] == 1);
}

void Trainer::select(const uint8_t* target, const uint64_t* scale, uint64_t key) {
  active_.clear();
  for (uint32_t i = 0; i < config_.m; ++i) {
    const int64_t votes = std::clamp(total_[i], -config_.T, config_.T);
    const uint64_t distance =
        static_cast<uint64_t>(target[i] ? config_.T - votes : config_.T + votes);
    const uint64_t full = 2 * static_cast<uint64_t>(config_.T);
    const uint64_t factor1 = config_.e_scales_type2 || target[i] ? scale[0] : scale[1];
    const uint64_t factor2 = config_.e_scales_type2 ? scale[1] : factor1;
    const uint64_t threshold1 = distance * factor1 / full;
    const uint64_t threshold2 = distance * factor2 / full;
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
    }
    active_.push_back(i);
  }
}

void Trainer::give_feedback(const uint8_t* target, uint64_t key) {
  chosen_.clear();
  for (size_t w = 0; w < clause_words_; ++w) {
    uint64_t any = 0;
    for (size_t a = 0; a < active_.size(); ++a) {
      any |= type1_[a * clause_words_ + w] | type2_[a * clause_words_ + w];
    }
    for (; any; any &= any - 1) {
      chosen_.push_back(static_cast<uint32_t>(64 * w) +
                        static_cast<uint32_t>(std::countr_zero(any)));
    }
  }
  for (size_t k = 0; k < chosen_.size(); ++k) {
    if (k + 1 < chosen_.size()) prefetch_row(chosen_[k + 1]);
    const uint32_t local = chosen_[k];
    const size_t w = local / 64;
    const uint64_t bit = uint64_t{1} << (local % 64);
    const bool fires = fires_[w] & bit;
    Feedback feedback{
        nullptr, keys_.data(), 0, 0, config_.q, config_.depth, config_.boost_true_positive};
    for (size_t a = 0; a < active_.size(); ++a) {
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
void Trainer::prefetch_row(uint32_t local) const {
  constexpr size_t kLines = 32;
  const int8_t* row = machine_.memory_.data() + size_t{range_.first + local} * machine_.words_ * 64;
  for (size_t line = 0; line < std::min(machine_.words_, kLines); ++line) {
    __builtin_prefetch(row + 64 * line, 1);
  }
}

void Trainer::move_weight(uint32_t local, uint32_t output, bool up) {
  if (!config_.learn_weights) return;
  int32_t& weight = machine_.weights_[size_t{range_.first + local} * config_.m + output];
  int64_t moved = int64_t{weight} + (up ? 1 : -1);
  if (!config_.sharing) {  // a clause keeps its side
    moved = weight > 0 ? std::max<int64_t>(moved, 1) : std::min<int64_t>(moved, -1);
  }
  const int64_t limit = config_.max_weight;
  weight = static_cast<int32_t>(std::clamp(moved, -limit, limit));
  uint64_t& negative = negative_[output * clause_words_ + local / 64];
  const uint64_t bit = uint64_t{1} << (local % 64);
  negative = weight < 0 ? negative | bit : negative & ~bit;
}

void Trainer::update_row(const Feedback& feedback, uint32_t local, uint64_t key) {
  const uint32_t clause = range_.first + local;
  int8_t* row = machine_.memory_.data() + size_t{clause} * machine_.words_ * 64;
  if (config_.max_literals) std::copy_n(row, machine_.words_ * 64, row_before_.data());
  const bool wide = feedback.type1 > kNarrowDelta || feedback.type2 > kNarrowDelta;
  const bool changed = (wide ? feedback_wide : kernels_.feedback)(
      feedback, machine_.spread_.data(), machine_.valid_.data(), machine_.words_, row,
      include_.data(), flipped_.data());
  if (!changed) return;
  if (config_.max_literals) limit_literals(clause, row, key);
  machine_.lists_.edit(clause, include_.data(), flipped_.data(), machine_.words_);
  matcher_.list_changed(local, include_.data(), flipped_.data());
}

// Of the literals a full clause would newly include, those with the largest hashes stay out.
void Trainer::limit_literals(uint32_t clause, int8_t* row, uint64_t key) {
  size_t included = 0;
  for (const uint64_t word : include_) included += static_cast<size_t>(std::popcount(word));
  if (included <= config_.max_literals) return;

  const Key limit_key = make_key(key, Purpose::limit, 0, clause);
  std::vector<std::pair<uint32_t, uint32_t>> fresh;  // hash, literal
  for (size_t w = 0; w < machine_.words_; ++w) {
    for (uint64_t bits = include_[w]; bits; bits &= bits - 1) {
      const uint32_t l =
          static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
      if (row_before_[l] >= 0) continue;
      const uint32_t position = l / 2 + (l % 2 ? config_.grid.features() : 0);
      fresh.emplace_back(hash32(limit_key, position), l);
    }
  }
  std::sort(fresh.begin(), fresh.end());
  const size_t surplus = std::min(included - config_.max_literals, fresh.size());
  for (size_t i = fresh.size() - surplus; i < fresh.size(); ++i) {
    const uint32_t l = fresh[i].second;
    row[l] = -1;
    include_[l / 64] &= ~(uint64_t{1} << (l % 64));
    flipped_[l / 64] &= ~(uint64_t{1} << (l % 64));
  }
}

TrainCounts Machine::train(const TrainTask& task, unsigned threads) {
  const std::unique_lock<std::shared_mutex> lock(state_mutex_);
  compiled_.reset();
  threads = std::max(1u, std::min(threads, config_.n));
  Barrier barrier(threads);
  VoteBoard board(threads, config_.m);
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (unsigned t = 0; t < threads; ++t) {
    trainers.push_back(std::make_unique<Trainer>(*this, t, threads));
  }
  run_threads(threads, [&](unsigned t) { trainers[t]->run(task, board, barrier); });
  return trainers[0]->counts;
}

}  // namespace cotm
