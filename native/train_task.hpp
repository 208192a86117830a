// What a pass over examples reads, and what it counts.
#pragma once

#include <cstdint>

#include "examples.hpp"

namespace cotm {

// Rows of targets and scales are indexed by example, like the examples themselves.
struct TrainTask {
  const Examples& examples;
  const uint8_t* targets;  // [example][m], 0 or 1; of quantities null
  const int32_t* aims;     // [example][m], of quantities: the votes to come near; else null
  const uint64_t* scales;  // [example][2], or [1][2] for all
  bool one_scale;
  const int64_t* order;
  size_t count;
  uint64_t step;  // of order[0]
};

struct TrainCounts {
  uint64_t hits = 0;     // examples whose highest vote was for a target of 1
  uint64_t correct = 0;  // (example, output) pairs with (vote >= 0) == target
  uint64_t missed = 0;   // of quantities: all votes too few or too many
};

}  // namespace cotm
