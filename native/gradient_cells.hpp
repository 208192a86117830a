// Histograms of gradients as bits; booleanize/gradients.py is the definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "images.hpp"

namespace cotm {

// Gradients lie in [-kBrightest, kBrightest]; the table of directions has a row for each.
inline constexpr int kBrightest = 255;
inline constexpr size_t kTableWidth = 2 * kBrightest + 1;

struct CellGrid {
  size_t height, width, step_rows, step_columns;
  size_t rows(const ImageShape& shape) const { return (shape.height - height) / step_rows + 1; }
  size_t columns(const ImageShape& shape) const { return (shape.width - width) / step_columns + 1; }
};

class GradientCells {
 public:
  // `directions` of gradients (up, right), all below `count`; quantiles increase, in parts of
  // kQuantileParts.
  GradientCells(const uint8_t* directions, size_t count, const CellGrid& cells,
                std::vector<int32_t> quantiles, bool each_channel);

  // Bits of one cell.
  size_t planes(const ImageShape& shape) const;

  // Images of shape (count, height, width, channels) to bits (count, rows, columns, planes).
  // Those of an image begin `distance` after those of the one before.
  void run(const uint8_t* images, size_t count, const ImageShape& shape, unsigned threads,
           uint8_t* bits, size_t distance) const;

 private:
  class Worker;

  const uint8_t* directions_;
  const size_t count_;
  const CellGrid cells_;
  const std::vector<int32_t> quantiles_;
  const bool each_channel_;
};

}  // namespace cotm
