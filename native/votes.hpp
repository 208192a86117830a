// Votes of all threads' clauses.
#pragma once

#include <algorithm>
#include <cstdint>

#include "buffer.hpp"

namespace cotm {

// Each thread writes the votes of its clauses, and sums those of all. There is room for the current
// example and the next: a thread that is ahead does not write what another still reads.
class VoteBoard {
 public:
  VoteBoard() = default;
  // width: the most outputs that an example asks.
  VoteBoard(unsigned threads, size_t width)
      : threads_(threads), stride_((width + 7) / 8 * 8), votes_(2 * threads * stride_) {}

  int64_t* of(unsigned thread, size_t turn) {
    return votes_.data() + (turn % 2 * threads_ + thread) * stride_;
  }

  void sum(size_t turn, size_t count, int64_t* total) {
    std::fill_n(total, count, 0);
    for (unsigned t = 0; t < threads_; ++t) {
      const int64_t* votes = of(t, turn);
      for (size_t i = 0; i < count; ++i) total[i] += votes[i];
    }
  }

 private:
  unsigned threads_ = 0;
  size_t stride_ = 0;  // a thread's votes begin on a cache line of their own
  Buffer<int64_t> votes_;
};

}  // namespace cotm
