#include "matcher.hpp"

#include <algorithm>
#include <bit>

namespace cotm {

namespace {

// The `rank`-th set bit, counted from 0.
uint32_t nth_bit(const uint64_t* words, uint64_t rank) {
  size_t w = 0;
  for (uint64_t here; rank >= (here = static_cast<uint64_t>(std::popcount(words[w]))); ++w) {
    rank -= here;
  }
  uint64_t bits = words[w];
  for (; rank; --rank) bits &= bits - 1;
  return static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
}

}  // namespace

PatchMatcher::PatchMatcher(Machine& machine, ClauseRange range)
    : machine_(machine),
      range_(range),
      literals_(machine.config().grid, machine.kernels()),
      fires_(range.words()),
      fired_before_(range.words()),
      left_(range.count * literals_.blocks() * kBlockWords) {}

const uint64_t* PatchMatcher::match(const TrainTask& task, size_t turn) {
  literals_.read(task.examples, static_cast<size_t>(task.order[turn]));
  machine_.lists().match_patches(machine_.kernels(), range_.first, range_.count, literals_.masks(),
                                 fires_.data(), left_.data());
  uint32_t fired = 0;
  for (size_t w = 0; w < fires_.size(); ++w) {
    fired_before_[w] = fired;
    fired += static_cast<uint32_t>(std::popcount(fires_[w]));
  }
  return fires_.data();
}

const uint64_t* PatchMatcher::truth(uint32_t local, uint64_t step_key) {
  const uint64_t earlier = fires_[local / 64] & ((uint64_t{1} << (local % 64)) - 1);
  const size_t slot = fired_before_[local / 64] + static_cast<size_t>(std::popcount(earlier));
  const size_t words = literals_.blocks() * kBlockWords;
  const uint64_t* left = left_.data() + slot * words;
  uint64_t found = 0;
  for (size_t w = 0; w < words; ++w) found += static_cast<uint64_t>(std::popcount(left[w]));
  const uint64_t draw = hash32(make_key(step_key, Purpose::patch, 0, 0), range_.first + local);
  return literals_.patch_truth(nth_bit(left, draw * found >> 32));
}

FlatMatcher::FlatMatcher(Machine& machine, ClauseRange range)
    : machine_(machine),
      range_(range),
      literals_(machine.config().grid, machine.kernels()),
      block_(machine.config().grid.features()),
      ahead_(size_t{range.count} * kBlockWords),
      fires_(FlatBlock::kExamples * range.words()) {}

const uint64_t* FlatMatcher::match(const TrainTask& task, size_t turn) {
  position_ = turn % FlatBlock::kExamples;
  if (position_ == 0) match_block(task, turn);
  literals_.read(task.examples, static_cast<size_t>(task.order[turn]));
  return fires_.data() + position_ * range_.words();
}

void FlatMatcher::match_block(const TrainTask& task, size_t turn) {
  block_.read(task.examples, task.order + turn, std::min(FlatBlock::kExamples, task.count - turn));
  const PatchMasks masks = block_.masks();
  for (size_t j = 0; j < range_.count; ++j) {
    machine_.lists().match_block(machine_.kernels(), range_.first + j, masks.masks, masks.valid,
                                 ahead_.data() + j * kBlockWords);
  }
  uint64_t square[64];
  for (size_t w = 0; w < range_.words(); ++w) {
    const size_t clauses = std::min<size_t>(64, range_.count - 64 * w);
    for (size_t group = 0; group < kBlockWords; ++group) {
      for (size_t j = 0; j < 64; ++j) {
        square[j] = j < clauses ? ahead_[(64 * w + j) * kBlockWords + group] : 0;
      }
      transpose64(square);
      for (size_t e = 0; e < 64; ++e) fires_[(64 * group + e) * range_.words() + w] = square[e];
    }
  }
}

const uint64_t* FlatMatcher::truth(uint32_t, uint64_t) { return literals_.truth(); }

void FlatMatcher::list_changed(uint32_t local, const uint64_t* include, const uint64_t* flipped) {
  const size_t words = literal_words(machine_.config().grid.features());
  uint64_t* ahead = ahead_.data() + local * kBlockWords;
  const PatchMasks masks = block_.masks();
  uint64_t found[kBlockWords];
  bool removed = false;
  for (size_t w = 0; w < words; ++w) removed |= (flipped[w] & ~include[w]) != 0;
  if (removed) {
    machine_.lists().match_block(machine_.kernels(), range_.first + local, masks.masks, masks.valid,
                                 found);
  } else {  // new literals only take examples away
    std::copy_n(ahead, kBlockWords, found);
    for (size_t w = 0; w < words; ++w) {
      for (uint64_t bits = flipped[w]; bits; bits &= bits - 1) {
        const size_t literal = 64 * w + static_cast<size_t>(std::countr_zero(bits));
        const uint64_t* mask = masks.masks + literal * kBlockWords;
        for (size_t g = 0; g < kBlockWords; ++g) found[g] &= mask[g];
      }
    }
  }
  // Examples up to the current one are over; the others' rows follow the clause.
  const uint64_t bit = uint64_t{1} << (local % 64);
  for (size_t g = position_ / 64; g < kBlockWords; ++g) {
    uint64_t differ = ahead[g] ^ found[g];
    if (g == position_ / 64) differ &= ~uint64_t{1} << (position_ % 64);
    for (; differ; differ &= differ - 1) {
      const size_t e = 64 * g + static_cast<size_t>(std::countr_zero(differ));
      fires_[e * range_.words() + local / 64] ^= bit;
    }
    ahead[g] = found[g];
  }
}

std::unique_ptr<Matcher> make_matcher(Machine& machine, ClauseRange range) {
  if (machine.config().grid.flat()) return std::make_unique<FlatMatcher>(machine, range);
  return std::make_unique<PatchMatcher>(machine, range);
}

}  // namespace cotm
