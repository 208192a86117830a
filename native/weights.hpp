// The weights of one thread's clauses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "bits.hpp"
#include "clauses.hpp"

namespace cotm {

class ClauseWeights {
 public:
  ClauseWeights(Clauses& clauses, ClauseRange range)
      : spec_(clauses.spec),
        words_(range.words()),
        weights_(clauses.weights.data() + size_t{range.first} * spec_.m),
        negative_(spec_.m * words_) {
    for (uint32_t j = 0; j < range.count; ++j) {
      for (uint32_t i = 0; i < spec_.m; ++i) note(j, i, weights_[size_t{j} * spec_.m + i]);
    }
  }

  const int32_t* data() const { return weights_; }  // [local clause][m]
  int64_t largest() const { return largest_; }      // no weight's magnitude is above it
  // A bit per local clause: its weight for the output is negative.
  const uint64_t* negative(uint32_t output) const { return negative_.data() + output * words_; }

  void move(uint32_t local, uint32_t output, bool up) {
    if (!spec_.learn_weights) return;
    int32_t& weight = weights_[size_t{local} * spec_.m + output];
    weight = spec_.moved_weight(weight, up);
    note(local, output, weight);
  }

 private:
  // Brings what is kept about weights up to date with one.
  void note(uint32_t local, uint32_t output, int32_t weight) {
    largest_ = std::max(largest_, std::abs(int64_t{weight}));
    uint64_t& word = negative_[output * words_ + local / 64];
    word = weight < 0 ? word | bit_of(local) : word & ~bit_of(local);
  }

  const Spec& spec_;
  size_t words_;  // of a bit per local clause
  int32_t* weights_;
  int64_t largest_ = 0;
  std::vector<uint64_t> negative_;  // [m][words]
};

}  // namespace cotm
