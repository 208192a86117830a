#include "patch_literals.hpp"

#include <algorithm>

#include "bits.hpp"

namespace cotm {

namespace {

// `count` <= 64 bits of a packed row.
uint64_t take_bits(const uint64_t* row, size_t start, unsigned count) {
  const unsigned down = start % 64;
  const uint64_t* word = row + start / 64;
  const uint64_t bits = word[0] >> down | word[1] << 1 << (63 - down);
  return count == 64 ? bits : bits & ((uint64_t{1} << count) - 1);
}

// Appends bits to words, low bits first.
class BitWriter {
 public:
  explicit BitWriter(uint64_t* to) : to_(to) {}
  void append(uint64_t bits, unsigned count) {
    pending_ |= bits << used_;
    if (used_ + count >= 64) {
      *to_++ = pending_;
      pending_ = used_ ? bits >> (64 - used_) : 0;
      used_ = used_ + count - 64;
    } else {
      used_ += count;
    }
  }
  void copy(const uint64_t* row, size_t start, size_t count) {
    for (; count > 64; count -= 64, start += 64) append(take_bits(row, start, 64), 64);
    append(take_bits(row, start, static_cast<unsigned>(count)), static_cast<unsigned>(count));
  }
  // A thermometer of `bits` bits at `level`: the first `level` are set.
  void thermometer(size_t level, size_t bits) {
    while (bits) {
      const size_t here = std::min<size_t>(64, bits), set = std::min(level, here);
      append(set == 64 ? ~uint64_t{0} : (uint64_t{1} << set) - 1, static_cast<unsigned>(here));
      level -= set;
      bits -= here;
    }
  }
  void flush() {
    if (used_) *to_ = pending_;
  }

 private:
  uint64_t* to_;
  uint64_t pending_ = 0;
  unsigned used_ = 0;
};

}  // namespace

Buffer<uint64_t> first_bits(size_t count, size_t words) {
  Buffer<uint64_t> bits(words);
  for (size_t i = 0; i < count; ++i) bits[i / 64] |= bit_of(i);
  return bits;
}

PatchLiterals::PatchLiterals(const Grid& grid, const Kernels& kernels)
    : grid_(grid),
      kernels_(kernels),
      words_(literal_words(grid)),
      truth_(words_),
      valid_literals_(first_bits(grid.n_literals(), words_)),
      features_((grid.n_features() + 63) / 64 + 1) {
  // The example without a set feature: all negations are true.
  for (size_t w = 0; w < words_; ++w) truth_[w] = 0xAAAAAAAAAAAAAAAAu & valid_literals_[w];
}

void PatchLiterals::read(const Examples& examples, size_t index) {
  examples_ = &examples;
  index_ = index;
  is_read_ = false;
}

const uint64_t* PatchLiterals::truth() {
  if (!is_read_) read_flat();
  is_read_ = true;
  return truth_.data();
}

void PatchLiterals::read_flat() {
  if (!examples_->is_sparse()) {
    kernels_.interleave(examples_->image(index_), valid_literals_.data(), words_, truth_.data());
    return;
  }
  // Cost follows the set features: undo the previous example's, set this one's.
  const auto flip = [&](const Examples& of, size_t i) {
    for (const uint32_t* k = of.features_begin(i); k != of.features_end(i); ++k) {
      truth_[*k / 32] ^= uint64_t{3} << (*k % 32 * 2);
    }
  };
  if (sparse_examples_) flip(*sparse_examples_, sparse_index_);
  flip(*examples_, index_);
  sparse_examples_ = examples_;
  sparse_index_ = index_;
}

const uint64_t* PatchLiterals::patch_truth(uint32_t patch) {
  const uint32_t line = patch / grid_.columns(), column = patch % grid_.columns();
  const uint32_t depth = line / grid_.rows(), row = line % grid_.rows();
  const uint64_t* image = examples_->image(index_);
  BitWriter writer(features_.data());
  writer.thermometer(depth, grid_.depths() - 1);
  writer.thermometer(row, grid_.rows() - 1);
  writer.thermometer(column, grid_.columns() - 1);
  for (uint32_t r = 0; r < grid_.patch_depth * grid_.patch_height; ++r) {
    const size_t z = size_t{depth} * grid_.stride_depths + r / grid_.patch_height;
    const size_t y = z * grid_.height + size_t{row} * grid_.stride_rows + r % grid_.patch_height;
    writer.copy(image + y * examples_->row_words(),
                static_cast<size_t>(column) * grid_.stride_columns * grid_.channels,
                static_cast<size_t>(grid_.patch_width) * grid_.channels);
  }
  writer.flush();
  kernels_.interleave(features_.data(), valid_literals_.data(), words_, truth_.data());
  return truth_.data();
}

}  // namespace cotm
