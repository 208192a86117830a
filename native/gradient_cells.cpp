#include "gradient_cells.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "buffer.hpp"

namespace cotm {

GradientCells::GradientCells(const uint8_t* directions, size_t count, const CellGrid& cells,
                             std::vector<int32_t> quantiles, bool each_channel)
    : directions_(directions),
      count_(count),
      cells_(cells),
      quantiles_(std::move(quantiles)),
      each_channel_(each_channel) {
  require(std::all_of(directions, directions + kTableWidth * kTableWidth,
                      [&](uint8_t direction) { return direction < count; }),
          "the table names a direction that does not exist");
  require(cells.height && cells.width && cells.step_rows && cells.step_columns,
          "cells and their steps must be positive");
  require_quantiles(quantiles_);
}

size_t GradientCells::planes(const ImageShape& shape) const {
  return (each_channel_ ? shape.channels : 1) * count_ * quantiles_.size();
}

// One thread's memory, for one image at a time.
class GradientCells::Worker {
 public:
  Worker(const GradientCells& maker, const ImageShape& shape)
      : maker_(maker),
        shape_(shape),
        groups_(maker.each_channel_ ? shape.channels : 1),
        columns_(maker.cells_.columns(shape)),
        sums_per_group_(maker.cells_.rows(shape) * columns_ * maker.count_),
        sums_(groups_ * sums_per_group_),
        arranged_(sums_per_group_) {
    const CellGrid& cells = maker.cells_;
    for (size_t y = 0; y < shape.height; ++y) {
      across_rows_.push_back(covering(y, cells.height, cells.step_rows, cells.rows(shape)));
    }
    for (size_t x = 0; x < shape.width; ++x) {
      across_columns_.push_back(covering(x, cells.width, cells.step_columns, columns_));
    }
  }

  void run(const uint8_t* image, uint8_t* bits) {
    std::fill_n(sums_.data(), sums_.size(), int64_t{0});
    for (size_t y = 0; y < shape_.height; ++y) {
      if (across_rows_[y].empty()) continue;
      for (size_t x = 0; x < shape_.width; ++x) {
        if (!across_columns_[x].empty()) add_pixel(image, y, x);
      }
    }
    for (size_t group = 0; group < groups_; ++group) write(group, bits);
  }

 private:
  struct Range {
    size_t first, last;
    bool empty() const { return first >= last; }
  };

  // The cells that cover a place along one axis.
  static Range covering(size_t place, size_t cell, size_t step, size_t count) {
    const size_t first = place < cell ? 0 : (place - cell) / step + 1;
    return {first, std::min(place / step + 1, count)};
  }

  struct Gradient {
    int up = 0, right = 0;
    int strength() const { return std::abs(up) + std::abs(right); }
  };

  void add_pixel(const uint8_t* image, size_t y, size_t x) {
    const size_t row = shape_.width * shape_.channels, channels = shape_.channels;
    const uint8_t* here = image + y * row + x * channels;
    const uint8_t* above = here - (y > 0 ? row : 0);
    const uint8_t* below = here + (y + 1 < shape_.height ? row : 0);
    const uint8_t* left = here - (x > 0 ? channels : 0);
    const uint8_t* right = here + (x + 1 < shape_.width ? channels : 0);
    Gradient strongest;
    for (size_t c = 0; c < channels; ++c) {
      const Gradient gradient{above[c] - below[c], right[c] - left[c]};
      if (maker_.each_channel_) {
        add(gradient, y, x, c);
      } else if (gradient.strength() > strongest.strength()) {
        strongest = gradient;
      }
    }
    if (!maker_.each_channel_) add(strongest, y, x, 0);
  }

  void add(const Gradient& gradient, size_t y, size_t x, size_t group) {
    const int strength = gradient.strength();
    if (!strength) return;
    const auto table_row = static_cast<size_t>(gradient.up + kBrightest);
    const auto table_column = static_cast<size_t>(gradient.right + kBrightest);
    const size_t direction = maker_.directions_[table_row * kTableWidth + table_column];
    int64_t* sums = sums_.data() + group * sums_per_group_ + direction;
    for (size_t i = across_rows_[y].first; i < across_rows_[y].last; ++i) {
      for (size_t j = across_columns_[x].first; j < across_columns_[x].last; ++j) {
        sums[(i * columns_ + j) * maker_.count_] += strength;
      }
    }
  }

  // The quantiles of positive sums; where there are none, any will do.
  void find_thresholds(const int64_t* sums) {
    int64_t* positive = arranged_.data();
    const size_t count =
        std::copy_if(sums, sums + sums_per_group_, positive, [](int64_t v) { return v > 0; }) -
        positive;
    thresholds_.assign(maker_.quantiles_.size(), 0);
    size_t settled = 0;  // what is before it is in its place
    for (size_t q = 0; q < maker_.quantiles_.size() && count; ++q) {
      const auto part = static_cast<size_t>(maker_.quantiles_[q]);
      if (!part) continue;
      const size_t rank = part * (count - 1) / static_cast<size_t>(kQuantileParts);
      if (rank >= settled) {
        std::nth_element(positive + settled, positive + rank, positive + count);
        settled = rank + 1;
      }
      thresholds_[q] = positive[rank];
    }
  }

  void write(size_t group, uint8_t* bits) {
    const int64_t* sums = sums_.data() + group * sums_per_group_;
    find_thresholds(sums);
    const size_t width = maker_.count_ * thresholds_.size();
    for (size_t i = 0; i < sums_per_group_; i += maker_.count_) {
      uint8_t* to = bits + i / maker_.count_ * groups_ * width + group * width;
      for (size_t k = 0; k < maker_.count_; ++k) {
        for (const int64_t threshold : thresholds_) *to++ = sums[i + k] > threshold;
      }
    }
  }

  const GradientCells& maker_;
  const ImageShape shape_;
  const size_t groups_, columns_, sums_per_group_;
  std::vector<Range> across_rows_, across_columns_;
  Buffer<int64_t> sums_, arranged_;
  std::vector<int64_t> thresholds_;
};

void GradientCells::run(const uint8_t* images, size_t count, const ImageShape& shape,
                        unsigned threads, uint8_t* bits, size_t distance) const {
  for_each_image(
      count, threads, [&] { return Worker(*this, shape); },
      [&](Worker& worker, size_t n) {
        worker.run(images + n * shape.values(), bits + n * distance);
      });
}

}  // namespace cotm
