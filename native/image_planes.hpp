// Planes of bits from images by integer filters; booleanize/filters.py is the definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "images.hpp"

namespace cotm {

inline constexpr size_t kKernelWidth = 7;

class PlaneMaker {
 public:
  // Kernels are squares of kKernelWidth; quantiles increase, in parts of kQuantileParts.
  PlaneMaker(const int8_t* kernels, size_t count, std::vector<int32_t> levels,
             std::vector<int32_t> positive, std::vector<int32_t> negative);

  // Planes of one channel.
  size_t planes() const;

  // Images of shape (count, height, width, channels) to bits (count, height, width, planes).
  // Those of an image begin `distance` after those of the one before.
  void run(const uint8_t* images, size_t count, const ImageShape& shape, unsigned threads,
           uint8_t* bits, size_t distance) const;

 private:
  struct Tap {
    size_t row, column;
    int16_t weight;
  };
  // The bits of a response, by how many thresholds it exceeds on either side of zero.
  struct Codes {
    Codes(std::vector<int32_t> above, std::vector<int32_t> below);
    size_t width() const { return above.size() + below.size(); }
    std::vector<int32_t> above, below;
    std::vector<uint8_t> patterns;  // a row of `stride` bytes per code
    size_t stride;
  };
  class Worker;

  std::vector<std::vector<Tap>> filters_;
  Codes levels_, responses_;
};

}  // namespace cotm
