#include "selection.hpp"

#include <algorithm>

namespace cotm {

namespace {

// distance * factor / full, at most 1, in units of 2^-32. A product beyond 64 bits is more than
// that: `full` has no more than 31.
uint64_t threshold(uint64_t distance, uint64_t factor, uint64_t full) {
  constexpr uint64_t kOne = uint64_t{1} << 32;
  uint64_t product;
  return multiply_overflows(distance, factor, product) ? kOne : std::min(product / full, kOne);
}

// Probabilities of a pair of an output and a clause to be selected, in units of 2^-32.
struct Thresholds {
  uint64_t type1, type2;
};

Thresholds selection_thresholds(const Spec& spec, uint64_t distance, bool target,
                                const uint64_t* scale) {
  const uint64_t full = 2 * static_cast<uint64_t>(spec.T);
  const uint64_t factor1 = spec.e_scales_type2 || target ? scale[0] : scale[1];
  const uint64_t factor2 = spec.e_scales_type2 ? scale[1] : factor1;
  const uint64_t type1 = threshold(distance, factor1, full);
  return {.type1 = type1, .type2 = factor2 == factor1 ? type1 : threshold(distance, factor2, full)};
}

}  // namespace

void Wishes::make(const Asked& asked, const int64_t* votes) {
  for (uint32_t i = 0; i < asked.count; ++i) {
    if (spec_.regression) {
      const int64_t missing = asked.aims[i] - votes[i];
      wanted_[i] = missing > 0;
      distance_[i] = static_cast<uint64_t>(std::min(missing < 0 ? -missing : missing, 2 * spec_.T));
    } else {
      const int64_t clipped = std::clamp(votes[i], -spec_.T, spec_.T);
      wanted_[i] = asked.targets[i];
      distance_[i] = static_cast<uint64_t>(wanted_[i] ? spec_.T - clipped : spec_.T + clipped);
    }
  }
}

Selection::Selection(const Spec& spec, const Kernels& kernels, ClauseRange range,
                     const uint64_t* asleep, uint32_t width)
    : spec_(spec),
      kernels_(kernels),
      range_(range),
      asleep_(asleep),
      words_(range.words()),
      type1_(width * words_),
      type2_(width * words_),
      chosen_once_(words_),
      chosen_again_(words_),
      chooser_(range.count) {
  active_.reserve(width);
  chosen_.reserve(range.count);
}

void Selection::select(const Asked& asked, const int64_t* votes, const Wishes& wishes,
                       const uint64_t* scale, const uint64_t* fires, const ClauseWeights& weights,
                       uint64_t step_key) {
  const uint8_t* target = wishes.wanted();
  active_.clear();
  std::fill(chosen_once_.begin(), chosen_once_.end(), 0);
  std::fill(chosen_again_.begin(), chosen_again_.end(), 0);
  const bool draws = spec_.draws_negative();
  const uint32_t drawn = draws ? draw_negative(asked.count, votes, target, step_key) : 0;
  for (uint32_t i = 0; i < asked.count; ++i) {
    if (draws && !target[i] && i != drawn) continue;
    const auto [threshold1, threshold2] =
        selection_thresholds(spec_, wishes.distance(i), target[i], scale);
    if (threshold1 == 0 && threshold2 == 0) continue;
    uint64_t* type1 = type1_.data() + active_.size() * words_;
    uint64_t* type2 = type2_.data() + active_.size() * words_;
    const uint32_t output = asked.output(i);
    const Key key = make_key(step_key, Purpose::select, output, 0);
    kernels_.select(key, range_.first, range_.count, threshold1, type1);
    if (threshold2 == threshold1) {
      std::copy_n(type1, words_, type2);
    } else {
      kernels_.select(key, range_.first, range_.count, threshold2, type2);
    }
    if (!spec_.sharing) keep_owned(output, type1, type2);
    const uint64_t* negative = weights.negative(output);
    for (size_t w = 0; w < words_; ++w) {
      const uint64_t agrees = target[i] ? ~negative[w] : negative[w];
      type1[w] &= agrees & ~asleep_[w];
      type2[w] &= ~agrees & fires[w];  // Type II does nothing to a clause that did not fire
      const uint64_t chosen = type1[w] | type2[w];
      chosen_again_[w] |= chosen & chosen_once_[w];
      for (const uint32_t k : SetBits{chosen & ~chosen_once_[w]}) {
        chooser_[64 * w + k] = static_cast<uint32_t>(active_.size());
      }
      chosen_once_[w] |= chosen;
    }
    active_.push_back(i);
  }
  chosen_.clear();
  for_each_bit(chosen_once_.data(), words_,
               [&](size_t local) { chosen_.push_back(static_cast<uint32_t>(local)); });
}

uint32_t Selection::draw_negative(uint32_t count, const int64_t* votes, const uint8_t* target,
                                  uint64_t step_key) const {
  const auto share = [&](uint32_t i) -> uint64_t {
    if (target[i]) return 0;
    if (!spec_.is_focused()) return 1;
    return static_cast<uint64_t>(spec_.T + std::clamp(votes[i], -spec_.T, spec_.T));
  };
  uint64_t all = 0;  // of 56 bits at the most
  for (uint32_t i = 0; i < count; ++i) all += share(i);
  const uint64_t draw = hash32(make_key(step_key, Purpose::negative, 0, 0), 0);
  uint64_t place = draw * (all >> 32) + (draw * (all & 0xFFFFFFFFu) >> 32);  // draw * all >> 32
  for (uint32_t i = 0; i < count; ++i) {
    if (place < share(i)) return i;
    place -= share(i);
  }
  return count;
}

void Selection::keep_owned(uint32_t output, uint64_t* type1, uint64_t* type2) const {
  for (uint32_t j = 0; j < range_.count; ++j) {
    if (spec_.owner(range_.first + j) == output) continue;
    type1[j / 64] &= ~bit_of(j);
    type2[j / 64] &= ~bit_of(j);
  }
}

}  // namespace cotm
