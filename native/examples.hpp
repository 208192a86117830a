// Examples as packed bits, and the literals of one example or one of its patches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "kernels.hpp"

namespace cotm {

// Where the patches of an image lie; a flat example is a 1 x 1 image with o channels.
struct Grid {
  uint32_t height, width, channels;
  uint32_t patch_height, patch_width;
  uint32_t stride_rows, stride_columns;

  uint32_t rows() const { return (height - patch_height) / stride_rows + 1; }
  uint32_t columns() const { return (width - patch_width) / stride_columns + 1; }
  uint32_t patches() const { return rows() * columns(); }
  uint32_t position_features() const { return rows() - 1 + columns() - 1; }
  uint32_t features() const { return position_features() + patch_height * patch_width * channels; }
  bool flat() const { return height == 1 && width == 1; }
};

// The bits of many examples. Dense: each image row starts on a word border. Sparse: the
// set features of each (flat) example.
class Examples {
 public:
  // Bytes of 0 or 1; only their lowest bits count.
  static Examples dense(const uint8_t* bits, size_t count, uint32_t height, uint32_t row_bits);
  static Examples sparse(const int64_t* starts, const int32_t* features, size_t count,
                         size_t n_features);

  size_t size() const { return count_; }
  bool is_sparse() const { return !starts_.empty(); }
  uint32_t height() const { return height_; }
  uint32_t row_bits() const { return row_bits_; }
  uint32_t row_words() const { return row_words_; }
  const uint64_t* image(size_t index) const { return words_.data() + index * height_ * row_words_; }
  const uint32_t* features_begin(size_t index) const { return features_.data() + starts_[index]; }
  const uint32_t* features_end(size_t index) const { return features_.data() + starts_[index + 1]; }

 private:
  size_t count_ = 0;
  uint32_t height_ = 1, row_bits_ = 0, row_words_ = 0;
  Buffer<uint64_t> words_;
  std::vector<size_t> starts_;
  std::vector<uint32_t> features_;
};

// One thread's view of the current example, for feedback.
class Literals {
 public:
  explicit Literals(const Grid& grid);

  void read(const Examples& examples, size_t index);

  // The literals of the example read last (flat), or of one of its patches; padded with zeros.
  const uint64_t* truth() const { return truth_.data(); }
  const uint64_t* patch_truth(uint32_t patch);

 private:
  void read_flat(const Examples& examples, size_t index);

  Grid grid_;
  size_t words_;  // of one patch's literals
  const Examples* examples_ = nullptr;
  const uint64_t* image_ = nullptr;
  Buffer<uint64_t> truth_, valid_literals_, features_;
  const Examples* sparse_examples_ = nullptr;  // whose features are set in truth_
  size_t sparse_index_ = 0;
};

inline size_t literal_words(uint32_t features) {
  return (2 * static_cast<size_t>(features) + kRowAlign - 1) / kRowAlign;
}
Buffer<uint64_t> first_bits(size_t count, size_t words);  // `count` ones, then zeros

}  // namespace cotm
