#include "examples.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace cotm {

namespace {

// The lowest bits of `count` <= 64 bytes.
uint64_t pack_bits(const uint8_t* bytes, uint32_t count) {
  uint64_t packed = 0;
  uint32_t x = 0;
#ifdef __SSE2__
  for (; x + 16 <= count; x += 16) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + x));
    const int bits = _mm_movemask_epi8(_mm_slli_epi16(sixteen, 7));
    packed |= static_cast<uint64_t>(static_cast<uint32_t>(bits)) << x;
  }
#endif
  if constexpr (std::endian::native == std::endian::little) {
    for (; x + 8 <= count; x += 8) {
      uint64_t eight;
      std::memcpy(&eight, bytes + x, 8);
      // The product moves the lowest bit of byte k to bit 56 + k.
      packed |= ((eight & 0x0101010101010101u) * 0x0102040810204080u >> 56) << x;
    }
  }
  for (; x < count; ++x) packed |= static_cast<uint64_t>(bytes[x] & 1) << x;
  return packed;
}

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
    for (uint32_t x = 0; x < row_bits; x += 64) {
      out[x / 64] = pack_bits(row + x, std::min(row_bits - x, uint32_t{64}));
    }
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

Literals::Literals(const Grid& grid)
    : grid_(grid),
      words_(literal_words(grid.features())),
      truth_(words_),
      valid_literals_(first_bits(2 * static_cast<size_t>(grid.features()), words_)),
      features_((grid.features() + 63) / 64 + 1) {
  for (size_t w = 0; w < words_; ++w) truth_[w] = 0xAAAAAAAAAAAAAAAAu & valid_literals_[w];
}

void Literals::read(const Examples& examples, size_t index) {
  if (grid_.flat()) {
    read_flat(examples, index);
  } else {
    examples_ = &examples;
    image_ = examples.image(index);
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

const uint64_t* Literals::patch_truth(uint32_t patch) {
  const uint32_t row = patch / grid_.columns(), column = patch % grid_.columns();
  BitWriter writer(features_.data());
  writer.thermometer(row, grid_.rows() - 1);
  writer.thermometer(column, grid_.columns() - 1);
  for (uint32_t r = 0; r < grid_.patch_height; ++r) {
    const size_t y = static_cast<size_t>(row) * grid_.stride_rows + r;
    writer.copy(image_ + y * examples_->row_words(),
                static_cast<size_t>(column) * grid_.stride_columns * grid_.channels,
                static_cast<size_t>(grid_.patch_width) * grid_.channels);
  }
  writer.flush();
  interleave_row(features_.data(), valid_literals_.data(), words_, truth_.data());
  return truth_.data();
}

}  // namespace cotm
