#include "example_block.hpp"

#include <algorithm>

#include "bits.hpp"

namespace cotm {

namespace {

// A longer stride than the image has no second patch to reach, and would only take memory.
uint32_t stride_columns(const Grid& grid) { return std::min(grid.stride_columns, grid.width); }

size_t pitch(const Grid& grid) {
  return (size_t{grid.width} + stride_columns(grid) - 1) / stride_columns(grid);
}

}  // namespace

void BlockLayout::require_fit(const Grid& grid) {
  uint64_t bits = grid.channels;
  bool fits = bits <= kMostFeatures;
  if (!grid.is_flat()) {
    fits = !multiply_overflows(bits, grid.height, bits) &&
           !multiply_overflows(bits, grid.depth, bits) &&
           !multiply_overflows(bits, stride_columns(grid) * pitch(grid), bits) &&
           bits <= kMostWords / 2;
  }
  require(fits,
          "the examples are too large: at most 2^28 flat bits, or images of 2^31, can be matched");
}

BlockLayout::BlockLayout(const Grid& grid)
    : flat_(grid.is_flat()),
      channels_(grid.channels),
      stride_columns_(stride_columns(grid)),
      columns_(grid.columns()),
      pitch_(pitch(grid)),
      row_words_(size_t{grid.channels} * stride_columns_ * pitch_),
      negated_(flat_ ? kBlockWords : size_t{grid.depth} * grid.height * row_words_),
      // Vectors of patches may read past the last one.
      words_(flat_ ? 2 * size_t{grid.channels} * kBlockWords : 2 * negated_ + kBlockWords),
      row_step_(std::min(grid.stride_rows, grid.height) * row_words_),
      depth_step_(size_t{std::min(grid.stride_depths, grid.depth)} * grid.height * row_words_),
      position_literals_(2 * grid.n_position_features()),
      whole_{.top = 0,
             .bottom = grid.rows() - 1,
             .left = 0,
             .right = grid.columns() - 1,
             .front = 0,
             .back = grid.depths() - 1} {
  require_fit(grid);
  const uint32_t row_bits = grid.patch_width * grid.channels;
  const uint32_t patch_rows = grid.patch_depth * grid.patch_height;
  offsets_.reserve(2 * size_t{patch_rows} * row_bits);
  for (uint32_t k = 0; k < patch_rows * row_bits; ++k) {
    const uint32_t row = k / row_bits;
    const size_t y = size_t{row / grid.patch_height} * grid.height + row % grid.patch_height;
    const size_t offset = pixel(y, k % row_bits);
    offsets_.push_back(static_cast<uint32_t>(offset));
    offsets_.push_back(static_cast<uint32_t>(offset + negated_));
  }
}

size_t BlockLayout::pixel(size_t y, size_t x) const {
  if (flat_) return 2 * x * kBlockWords;
  const size_t column = x / channels_;
  return y * row_words_ + (x % channels_ * stride_columns_ + column % stride_columns_) * pitch_ +
         column / stride_columns_;
}

template <class Visit>
void BlockLayout::for_each_position(const uint64_t* include, Visit visit) const {
  const uint32_t of_depths = depths() - 1, of_rows = rows() - 1;
  for (uint32_t w = 0; 64 * w < position_literals_; ++w) {
    uint64_t bits = include[w];
    if (position_literals_ - 64 * w < 64) {
      bits &= (uint64_t{1} << (position_literals_ - 64 * w)) - 1;
    }
    for (const uint32_t k : SetBits{bits}) {
      const uint32_t literal = 64 * w + k;
      const uint32_t feature = literal / 2;
      const bool negated = literal % 2 != 0;
      if (feature < of_depths) {
        visit(Axis::depths, feature, negated);
      } else if (feature < of_depths + of_rows) {
        visit(Axis::rows, feature - of_depths, negated);
      } else {
        visit(Axis::columns, feature - of_depths - of_rows, negated);
      }
    }
  }
}

Window BlockLayout::window(const uint64_t* include) const {
  Window window = whole_;
  for_each_position(include, [&](Axis axis, uint32_t t, bool negated) {
    uint32_t& last = axis == Axis::depths ? window.back
                     : axis == Axis::rows ? window.bottom
                                          : window.right;
    uint32_t& first = axis == Axis::depths ? window.front
                      : axis == Axis::rows ? window.top
                                           : window.left;
    if (negated) {
      last = std::min(last, t);
    } else {
      first = std::max(first, t + 1);
    }
  });
  return window;
}

uint32_t BlockLayout::count_positions(const uint64_t* include) const {
  uint32_t count = 0;
  for_each_position(include, [&](Axis, uint32_t, bool) { ++count; });
  return count;
}

void BlockLayout::count_position_misses(const uint64_t* include, uint32_t* of_row,
                                        uint32_t* of_column) const {
  std::fill_n(of_row, row_misses(), 0);
  std::fill_n(of_column, columns_, 0);
  for_each_position(include, [&](Axis axis, uint32_t t, bool negated) {
    const auto misses = [&](uint32_t place) { return negated ? place > t : place <= t; };
    if (axis == Axis::columns) {
      for (uint32_t column = 0; column < columns_; ++column) of_column[column] += misses(column);
      return;
    }
    for (uint32_t row = 0; row < row_misses(); ++row) {
      of_row[row] += misses(axis == Axis::rows ? row % rows() : row / rows());
    }
  });
}

void ExampleBlock::read(const Examples& examples, const int64_t* order, size_t count) {
  count_ = count;
  for (size_t w = 0; w < kBlockWords; ++w) {
    const size_t before = std::min(64 * w, count);
    const size_t here = std::min<size_t>(64, count - before);
    valid_[w] = here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1;
  }
  if (examples.is_sparse()) {
    read_sparse(examples, order, count);
  } else if (layout_.is_flat()) {
    read_flat(examples, order, count);
  } else {
    read_images(examples, order, count);
  }
}

// The words of each literal at a time, one literal after the other.
void ExampleBlock::read_flat(const Examples& examples, const int64_t* order, size_t count) {
  const size_t groups = (count + 63) / 64;
  alignas(kCacheLine) uint64_t squares[kBlockWords][64];
  for (size_t word = 0; word < examples.row_words(); ++word) {
    for (size_t e = 0; e < 64 * groups; ++e) {
      squares[e / 64][e % 64] = e < count ? examples.image(static_cast<size_t>(order[e]))[word] : 0;
    }
    for (size_t group = 0; group < groups; ++group) kernels_.transpose64(squares[group]);
    const size_t end = std::min<size_t>(64, examples.row_bits() - 64 * word);
    uint64_t* to = words_.data() + layout_.pixel(0, 64 * word);
    for (size_t b = 0; b < end; ++b, to += 2 * kBlockWords) {
      for (size_t group = 0; group < groups; ++group) {
        to[group] = squares[group][b];
        to[kBlockWords + group] = ~squares[group][b];
      }
    }
  }
}

void ExampleBlock::read_images(const Examples& examples, const int64_t* order, size_t count) {
  uint64_t square[64];
  for (size_t group = 0; 64 * group < count; ++group) {
    for (size_t y = 0; y < examples.height(); ++y) {
      for (size_t word = 0; word < examples.row_words(); ++word) {
        for (size_t r = 0; r < 64; ++r) {
          const size_t e = 64 * group + r;
          square[r] =
              e < count
                  ? examples.image(static_cast<size_t>(order[e]))[y * examples.row_words() + word]
                  : 0;
        }
        kernels_.transpose64(square);
        const size_t end = std::min<size_t>(64, examples.row_bits() - 64 * word);
        for (size_t b = 0; b < end; ++b) {
          uint64_t* pixel = words_.data() + layout_.pixel(y, 64 * word + b) + group;
          pixel[0] = square[b];
          pixel[layout_.negated()] = ~square[b];
        }
      }
    }
  }
}

void ExampleBlock::read_sparse(const Examples& examples, const int64_t* order, size_t count) {
  for (size_t k = 0; k < examples.row_bits(); ++k) {
    uint64_t* words = words_.data() + 2 * k * kBlockWords;
    std::fill_n(words, kBlockWords, 0);
    std::fill_n(words + kBlockWords, kBlockWords, ~uint64_t{0});
  }
  for (size_t e = 0; e < count; ++e) {
    const size_t index = static_cast<size_t>(order[e]);
    const uint64_t bit = uint64_t{1} << (e % 64);
    for (const uint32_t* k = examples.features_begin(index); k != examples.features_end(index);
         ++k) {
      uint64_t* words = words_.data() + 2 * size_t{*k} * kBlockWords + e / 64;
      words[0] |= bit;
      words[kBlockWords] &= ~bit;
    }
  }
}

}  // namespace cotm
