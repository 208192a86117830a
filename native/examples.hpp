// Examples as packed bits.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"

namespace cotm {

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

}  // namespace cotm
