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
  // by_output: whether `of_output` will be called.
  ClauseWeights(Clauses& clauses, ClauseRange range, bool by_output)
      : spec_(clauses.spec),
        count_(range.count),
        words_(range.words()),
        weights_(clauses.weights.data() + size_t{range.first} * spec_.m),
        negative_(spec_.m * words_) {
    if (by_output) turned_ = Buffer<int32_t>(size_t{spec_.m} * count_);
    constexpr uint32_t kTile = 64;  // outputs whose columns are written together
    for (uint32_t first = 0; first < spec_.m; first += kTile) {
      const uint32_t end = std::min(first + kTile, spec_.m);
      for (uint32_t j = 0; j < count_; ++j) {
        for (uint32_t i = first; i < end; ++i) note(j, i, weights_[size_t{j} * spec_.m + i]);
      }
    }
  }

  const int32_t* data() const { return weights_; }  // [local clause][m]
  // Those for one output, by local clause: a column of the above, without a leap from one to the
  // next.
  const int32_t* of_output(uint32_t output) const {
    return turned_.data() + size_t{output} * count_;
  }
  int64_t largest() const { return largest_; }  // no weight's magnitude is above it
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
    if (turned_.size()) turned_[size_t{output} * count_ + local] = weight;
    largest_ = std::max(largest_, std::abs(int64_t{weight}));
    uint64_t& word = negative_[output * words_ + local / 64];
    word = weight < 0 ? word | bit_of(local) : word & ~bit_of(local);
  }

  const Spec& spec_;
  uint32_t count_;  // local clauses
  size_t words_;    // of a bit per local clause
  int32_t* weights_;
  int64_t largest_ = 0;
  Buffer<int32_t> turned_;          // [m][local clause], or empty
  std::vector<uint64_t> negative_;  // [m][words]
};

}  // namespace cotm
