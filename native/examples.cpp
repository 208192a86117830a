#include "examples.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__SSE2__) || defined(_M_X64)
#define COTM_SSE2
#include <emmintrin.h>
#endif

namespace cotm {

namespace {

// The lowest bits of `count` <= 64 bytes.
uint64_t pack_bits(const uint8_t* bytes, uint32_t count) {
  uint64_t packed = 0;
  uint32_t x = 0;
#ifdef COTM_SSE2
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

}  // namespace

Examples Examples::dense(const uint8_t* bits, size_t count, uint32_t height, uint32_t row_bits) {
  Examples examples;
  examples.count_ = count;
  examples.height_ = height;
  examples.row_bits_ = row_bits;
  examples.row_words_ = (row_bits + 63) / 64;
  // One word more than the rows need: patch_literals.cpp reads the word after the last bit's.
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

}  // namespace cotm
