#include "examples.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cotm {

namespace {

// Bits start, start + step, ... of a packed row, `count` <= 64 of them.
uint64_t take_bits(const uint64_t* row, size_t start, size_t step, unsigned count) {
  uint64_t bits = 0;
  if (step == 1) {
    const unsigned down = start % 64;
    const uint64_t* word = row + start / 64;
    bits = word[0] >> down | word[1] << 1 << (63 - down);
  } else {
    for (unsigned i = 0; i < count; ++i) {
      const size_t at = start + i * step;
      bits |= (row[at / 64] >> (at % 64) & 1) << i;
    }
  }
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
  // `count` bits of a packed row, `step` apart.
  void copy(const uint64_t* row, size_t start, size_t step, size_t count) {
    for (; count > 64; count -= 64, start += 64 * step) append(take_bits(row, start, step, 64), 64);
    append(take_bits(row, start, step, static_cast<unsigned>(count)), static_cast<unsigned>(count));
  }
  // A thermometer of `bits` bits at `level`: the first `level` are set.
  void thermometer(size_t level, size_t bits) {
    for (size_t i = 0; i < bits; ++i) append(i < level, 1);
  }
  void flush() {
    if (used_) *to_ = pending_;
  }

 private:
  uint64_t* to_;
  uint64_t pending_ = 0;
  unsigned used_ = 0;
};

// Feature bits to literal bits: bit k to bit 2k, its negation to bit 2k + 1.
uint64_t interleave(uint32_t features) {
  uint64_t x = features;
  x = (x | x << 16) & 0x0000FFFF0000FFFFu;
  x = (x | x << 8) & 0x00FF00FF00FF00FFu;
  x = (x | x << 4) & 0x0F0F0F0F0F0F0F0Fu;
  x = (x | x << 2) & 0x3333333333333333u;
  x = (x | x << 1) & 0x5555555555555555u;
  return x | (~x & 0x5555555555555555u) << 1;
}

void interleave_row(const uint64_t* features, const uint64_t* valid, size_t words,
                    uint64_t* truth) {
  for (size_t w = 0; w < words; ++w) {
    truth[w] = interleave(static_cast<uint32_t>(features[w / 2] >> (w % 2 * 32))) & valid[w];
  }
}

}  // namespace

Buffer<uint64_t> first_bits(size_t count, size_t words) {
  Buffer<uint64_t> bits(words);
  for (size_t i = 0; i < count; ++i) bits[i / 64] |= uint64_t{1} << (i % 64);
  return bits;
}

Examples Examples::dense(const uint8_t* bits, size_t count, uint32_t height, uint32_t row_bits) {
  Examples examples;
  examples.count_ = count;
  examples.height_ = height;
  examples.row_bits_ = row_bits;
  examples.row_words_ = (row_bits + 63) / 64;
  // One word more than the rows need: take_bits reads the word after the last bit's.
  examples.words_ = Buffer<uint64_t>(count * height * examples.row_words_ + 1);
  uint64_t* out = examples.words_.data();
  for (size_t r = 0; r < count * height; ++r, out += examples.row_words_) {
    const uint8_t* row = bits + r * row_bits;
    uint32_t x = 0;
    if constexpr (std::endian::native == std::endian::little) {
      for (; x + 8 <= row_bits; x += 8) {
        uint64_t bytes;
        std::memcpy(&bytes, row + x, 8);
        // The product moves the lowest bit of byte k to bit 56 + k.
        const uint64_t byte = (bytes & 0x0101010101010101u) * 0x0102040810204080u >> 56;
        out[x / 64] |= byte << (x % 64);
      }
    }
    for (; x < row_bits; ++x) out[x / 64] |= static_cast<uint64_t>(row[x] & 1) << (x % 64);
  }
  return examples;
}

Examples Examples::sparse(const int64_t* starts, const int32_t* features, size_t count,
                          size_t n_features) {
  Examples examples;
  examples.count_ = count;
  examples.row_bits_ = static_cast<uint32_t>(n_features);
  examples.starts_.assign(starts, starts + count + 1);
  examples.features_.assign(features, features + starts[count]);
  return examples;
}

Literals::Literals(const Grid& grid, const Kernels& kernels)
    : grid_(grid),
      kernels_(kernels),
      words_(literal_words(grid.features())),
      blocks_((grid.patches() + 511) / 512),
      block_stride_((2 * static_cast<size_t>(grid.features()) + 1) * kBlockWords),
      truth_(words_),
      valid_literals_(first_bits(2 * static_cast<size_t>(grid.features()), words_)),
      valid_patches_(first_bits(grid.patches(), blocks_ * kBlockWords)),
      features_((grid.features() + 63) / 64 + 1) {
  if (grid_.flat()) {
    for (size_t w = 0; w < words_; ++w) truth_[w] = 0xAAAAAAAAAAAAAAAAu & valid_literals_[w];
    return;
  }
  masks_ = Buffer<uint64_t>(blocks_ * block_stride_);
  const size_t bits =
      static_cast<size_t>((grid_.height - 1) / grid_.stride_rows + 1) * grid_.columns();
  column_bits_ = Buffer<uint64_t>(bits / 64 + blocks_ * kBlockWords + 2);
  set_position_masks();
}

void Literals::set_position_masks() {
  const uint32_t rows = grid_.rows(), columns = grid_.columns();
  for (uint32_t p = 0; p < grid_.patches(); ++p) {
    uint64_t* block = masks_.data() + p / 512 * block_stride_ + p % 512 / 64;
    const uint64_t bit = uint64_t{1} << (p % 64);
    const auto set = [&](uint32_t feature, bool value) {
      block[(2 * static_cast<size_t>(feature) + !value) * kBlockWords] |= bit;
    };
    for (uint32_t t = 0; t + 1 < rows; ++t) set(t, p / columns > t);
    for (uint32_t t = 0; t + 1 < columns; ++t) set(rows - 1 + t, p % columns > t);
    // The literal that is always true, with which short include lists are filled up.
    block[2 * static_cast<size_t>(grid_.features()) * kBlockWords] |= bit;
  }
}

void Literals::read(const Examples& examples, size_t index) {
  if (grid_.flat()) {
    read_flat(examples, index);
  } else {
    examples_ = &examples;
    image_ = examples.image(index);
    read_patches();
  }
}

void Literals::read_flat(const Examples& examples, size_t index) {
  if (!examples.is_sparse()) {
    interleave_row(examples.image(index), valid_literals_.data(), words_, truth_.data());
    return;
  }
  // Cost follows the set features: undo the previous example's, set this one's.
  const auto flip = [&](const Examples& of, size_t i) {
    for (const uint32_t* k = of.features_begin(i); k != of.features_end(i); ++k) {
      truth_[*k / 32] ^= uint64_t{3} << (*k % 32 * 2);
    }
  };
  if (sparse_examples_) flip(*sparse_examples_, sparse_index_);
  flip(examples, index);
  sparse_examples_ = &examples;
  sparse_index_ = index;
}

void Literals::read_patches() {
  const uint32_t columns = grid_.columns(), channels = grid_.channels;
  const size_t step = static_cast<size_t>(grid_.stride_columns) * channels;
  // A row of up to 64 bits, read without gaps, needs no more than a shift.
  const bool whole_row = step == 1 && examples_->row_words() == 1;
  const uint64_t row_mask = columns >= 64 ? ~uint64_t{0} : (uint64_t{1} << columns) - 1;
  for (uint32_t x = 0; x < grid_.patch_width * channels; ++x) {
    for (uint32_t phase = 0; phase < grid_.stride_rows && phase < grid_.patch_height; ++phase) {
      // The bits under column x of every patch of every row of this phase; row r of the
      // patches is the same bits further on.
      BitWriter writer(column_bits_.data());
      if (whole_row) {
        for (uint32_t y = phase; y < grid_.height; y += grid_.stride_rows) {
          writer.append(image_[y] >> x & row_mask, columns);
        }
      } else {
        for (uint32_t y = phase; y < grid_.height; y += grid_.stride_rows) {
          writer.copy(image_ + static_cast<size_t>(y) * examples_->row_words(), x, step, columns);
        }
      }
      writer.flush();
      for (uint32_t r = phase; r < grid_.patch_height; r += grid_.stride_rows) {
        const size_t feature =
            grid_.position_features() + static_cast<size_t>(r) * grid_.patch_width * channels + x;
        kernels_.shift_masks(column_bits_.data(),
                             static_cast<size_t>(r / grid_.stride_rows) * columns,
                             valid_patches_.data(), blocks_, block_stride_,
                             masks_.data() + 2 * feature * kBlockWords);
      }
    }
  }
}

const uint64_t* Literals::patch_truth(uint32_t patch) {
  if (grid_.flat()) return truth_.data();
  const uint32_t row = patch / grid_.columns(), column = patch % grid_.columns();
  BitWriter writer(features_.data());
  writer.thermometer(row, grid_.rows() - 1);
  writer.thermometer(column, grid_.columns() - 1);
  for (uint32_t r = 0; r < grid_.patch_height; ++r) {
    const size_t y = static_cast<size_t>(row) * grid_.stride_rows + r;
    writer.copy(image_ + y * examples_->row_words(),
                static_cast<size_t>(column) * grid_.stride_columns * grid_.channels, 1,
                static_cast<size_t>(grid_.patch_width) * grid_.channels);
  }
  writer.flush();
  interleave_row(features_.data(), valid_literals_.data(), words_, truth_.data());
  return truth_.data();
}

FlatBlock::FlatBlock(uint32_t features)
    : features_(features), masks_((2 * size_t{features} + 1) * kBlockWords) {}

void FlatBlock::read(const Examples& examples, const int64_t* order, size_t count) {
  const Buffer<uint64_t> valid = first_bits(count, kBlockWords);
  if (examples.is_sparse()) {
    read_sparse(examples, order, count);
  } else {
    read_dense(examples, order, count);
  }
  for (size_t k = 0; k < features_; ++k) {
    uint64_t* mask = masks_.data() + 2 * k * kBlockWords;
    for (size_t w = 0; w < kBlockWords; ++w) mask[kBlockWords + w] = ~mask[w] & valid[w];
  }
  std::copy_n(valid.data(), kBlockWords, masks_.data() + 2 * size_t{features_} * kBlockWords);
}

void FlatBlock::read_dense(const Examples& examples, const int64_t* order, size_t count) {
  uint64_t square[64];
  for (size_t group = 0; group < kBlockWords; ++group) {
    for (size_t column = 0; column < examples.row_words(); ++column) {
      for (size_t r = 0; r < 64; ++r) {
        const size_t e = 64 * group + r;
        square[r] = e < count ? examples.image(static_cast<size_t>(order[e]))[column] : 0;
      }
      transpose64(square);
      const size_t end = std::min<size_t>(64, features_ - 64 * column);
      for (size_t k = 0; k < end; ++k) {
        masks_[2 * (64 * column + k) * kBlockWords + group] = square[k];
      }
    }
  }
}

void FlatBlock::read_sparse(const Examples& examples, const int64_t* order, size_t count) {
  for (size_t k = 0; k < features_; ++k) {
    std::fill_n(masks_.data() + 2 * k * kBlockWords, kBlockWords, 0);
  }
  for (size_t e = 0; e < count; ++e) {
    const size_t index = static_cast<size_t>(order[e]);
    for (const uint32_t* k = examples.features_begin(index); k != examples.features_end(index);
         ++k) {
      masks_[2 * size_t{*k} * kBlockWords + e / 64] |= uint64_t{1} << (e % 64);
    }
  }
}

void transpose64(uint64_t* words) {
  uint64_t mask = 0x00000000FFFFFFFFu;
  for (unsigned width = 32; width; width /= 2, mask ^= mask << width) {
    for (unsigned r = 0; r < 64; r = (r + width + 1) & ~width) {
      const uint64_t swap = (words[r] >> width ^ words[r + width]) & mask;
      words[r] ^= swap << width;
      words[r + width] ^= swap;
    }
  }
}

}  // namespace cotm
