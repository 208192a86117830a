// What a pass over examples reads, and what it counts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "examples.hpp"

namespace cotm {

// The outputs that an example asks, in ascending order, and what it wants of them. "Places" count
// these outputs; where all are asked, they are the outputs' numbers.
struct Asked {
  bool all;
  const int32_t* outputs;  // by place, where not all are asked
  uint32_t count;
  const uint8_t* targets;  // by place, 0 or 1; of quantities null
  const int32_t* aims;     // by place, of quantities: the votes to come near; else null

  uint32_t output(uint32_t place) const {
    return all ? place : static_cast<uint32_t>(outputs[place]);
  }
};

// Targets and scales are indexed by example, like the examples themselves.
struct TrainTask {
  const Examples& examples;
  const uint8_t* targets;  // 0 or 1; of quantities null
  const int32_t* aims;     // of quantities: the votes to come near; else null
  const int64_t* starts;   // where the outputs and targets of each example begin, and the last end;
                           // null: each asks all m
  const int32_t* outputs;  // that are asked, where not all are
  const uint64_t* scales;  // [example][2], or [1][2] for all
  bool one_scale;
  const int64_t* order;
  size_t count;
  uint64_t step;  // of order[0]

  bool asks_all() const { return !starts; }
  Asked asked(size_t example, uint32_t m) const {
    const size_t first = starts ? static_cast<size_t>(starts[example]) : example * m;
    const size_t count = starts ? static_cast<size_t>(starts[example + 1]) - first : m;
    return {.all = asks_all(),
            .outputs = starts ? outputs + first : nullptr,
            .count = static_cast<uint32_t>(count),
            .targets = targets ? targets + first : nullptr,
            .aims = aims ? aims + first : nullptr};
  }
  // The most outputs that an example asks.
  uint32_t width(uint32_t m) const {
    if (!starts) return m;
    int64_t most = 0;
    for (size_t i = 0; i < examples.size(); ++i) most = std::max(most, starts[i + 1] - starts[i]);
    return static_cast<uint32_t>(most);
  }
};

struct TrainCounts {
  uint64_t hits = 0;     // examples whose highest vote, of what was asked, was for a target of 1
  uint64_t correct = 0;  // (example, output) pairs with (vote >= 0) == target
  uint64_t missed = 0;   // of quantities: all votes too few or too many
};

}  // namespace cotm
