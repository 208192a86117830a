// Kernels for AVX-512 (F, BW, DQ, VL): a Mask is one mask register, an Octet one vector register.
//
// Comparisons are unsigned where their names say epu, and give a bit per lane. A draw is < q iff it
// is <= q - 1, which fits 16 bits where q does not.
#include <immintrin.h>
#include <string.h>

#include "kernels/kernels.hpp"

namespace cotm {
namespace {

constexpr const char* kIsaName = "avx512";

// hash32_spread of 16 indices.
inline __m512i hash16(__m512i spread, __m512i a, __m512i b) {
  const __m512i x = _mm512_xor_si512(spread, a);
  const __m512i y = _mm512_mullo_epi32(x, _mm512_add_epi32(_mm512_add_epi32(x, x), b));
  return _mm512_xor_si512(y, _mm512_srli_epi32(y, 16));
}

// Bit j: hash32(key, first + j) <= last. The products index * kGolden of spread() are sums: 16
// indices on, they are 16 * kGolden more.
uint64_t select64(Key key, uint32_t first, uint32_t last) {
  const __m512i a = _mm512_set1_epi32(static_cast<int>(key.a));
  const __m512i b = _mm512_set1_epi32(static_cast<int>(key.b));
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(last));
  const __m512i golden = _mm512_set1_epi32(static_cast<int>(kGolden));
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i w = _mm512_mullo_epi32(
      _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(first))), golden);
  const __m512i next = _mm512_set1_epi32(static_cast<int>(16 * kGolden));
  uint64_t bits = 0;
  for (int group = 0; group < 4; ++group) {
    const __m512i h = hash16(_mm512_xor_si512(w, _mm512_srli_epi32(w, 16)), a, b);
    bits |= static_cast<uint64_t>(_mm512_cmple_epu32_mask(h, limit)) << (16 * group);
    w = _mm512_add_epi32(w, next);
  }
  return bits;
}

// Picks first, first + 1, ...: literal floor(hash * literals / 2^32), where it lies in here.
void pick_lanes(Key key, uint32_t first, uint32_t features, uint32_t* to) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i index = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(first)));
  const __m512i w = _mm512_mullo_epi32(index, _mm512_set1_epi32(static_cast<int>(kGolden)));
  const __m512i hash = hash16(_mm512_xor_si512(w, _mm512_srli_epi32(w, 16)),
                              _mm512_set1_epi32(static_cast<int>(key.a)),
                              _mm512_set1_epi32(static_cast<int>(key.b)));
  const __m512i literals = _mm512_set1_epi32(static_cast<int>(2 * features));
  const __m512i even = _mm512_mul_epu32(hash, literals);
  const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(hash, 32), literals);
  const __m512i outer = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
  const __mmask16 negated =
      _mm512_cmpge_epu32_mask(outer, _mm512_set1_epi32(static_cast<int>(features)));
  const __m512i inner = _mm512_slli_epi32(outer, 1);
  const __m512i back = _mm512_set1_epi32(static_cast<int>(2 * features - 1));
  _mm512_storeu_si512(to, _mm512_mask_sub_epi32(inner, negated, inner, back));
}

// A nibble of features as a byte of literals.
alignas(16) constexpr uint8_t kLiteralsOfNibble[16] = {
    0xAA, 0xA9, 0xA6, 0xA5, 0x9A, 0x99, 0x96, 0x95, 0x6A, 0x69, 0x66, 0x65, 0x5A, 0x59, 0x56, 0x55};

// Interleaves as many words as whole vectors have; returns how many.
size_t interleave_many(const uint64_t* features, const uint64_t* valid, size_t words,
                       uint64_t* truth) {
  const __m512i table =
      _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(kLiteralsOfNibble)));
  const __m512i nibbles = _mm512_set1_epi8(0x0F);
  size_t w = 0;
  for (; w + 8 <= words; w += 8) {
    const __m512i bytes = _mm512_cvtepu8_epi16(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(features + w / 2)));
    const __m512i apart =
        _mm512_and_si512(_mm512_or_si512(bytes, _mm512_slli_epi16(bytes, 4)), nibbles);
    _mm512_storeu_si512(truth + w, _mm512_and_si512(_mm512_shuffle_epi8(table, apart),
                                                    _mm512_loadu_si512(valid + w)));
  }
  return w;
}

// Grades of 64 clauses: most minus misses, or 0; returns a bit for each that is above 0.
uint64_t less_misses(const uint16_t* misses, const uint16_t* most, uint16_t* grades) {
  uint64_t fires = 0;
  for (size_t j = 0; j < 64; j += 32) {
    const __m512i rest =
        _mm512_subs_epu16(_mm512_loadu_si512(most + j), _mm512_loadu_si512(misses + j));
    _mm512_storeu_si512(grades + j, rest);
    fires |= static_cast<uint64_t>(_mm512_test_epi16_mask(rest, rest)) << j;
  }
  return fires;
}

struct Octet {
  __m512i words;

  static Octet load(const uint64_t* from) { return {_mm512_loadu_si512(from)}; }
  static Octet all(uint64_t word) { return {_mm512_set1_epi64(static_cast<long long>(word))}; }
  void store(uint64_t* to) const { _mm512_storeu_si512(to, words); }
  Octet operator&(const Octet& other) const { return {_mm512_and_si512(words, other.words)}; }
  Octet operator|(const Octet& other) const { return {_mm512_or_si512(words, other.words)}; }
  Octet operator^(const Octet& other) const { return {_mm512_xor_si512(words, other.words)}; }
  Octet without(const Octet& other) const { return {_mm512_andnot_si512(other.words, words)}; }
  bool any() const { return _mm512_test_epi64_mask(words, words) != 0; }
  uint64_t or_of_lanes() const { return static_cast<uint64_t>(_mm512_reduce_or_epi64(words)); }
  uint32_t lanes_with_bit(unsigned bit) const {
    return _mm512_test_epi64_mask(words, all(uint64_t{1} << bit).words);
  }
};

constexpr uint32_t kLanes = 8;
using Lanes = Octet;

constexpr size_t kVoteLanes = 32;

struct VoteMask {
  __mmask32 lanes;
  static VoteMask from(const uint64_t* found, size_t first) {
    __mmask32 bits;
    memcpy(&bits, reinterpret_cast<const char*>(found) + first / 8, sizeof bits);
    return {bits};
  }
};

struct VoteSum {
  __m512i lanes;
  static VoteSum zero() { return {_mm512_setzero_si512()}; }
  static VoteSum load(const int16_t* from) { return {_mm512_loadu_si512(from)}; }
  void store(int16_t* to) const { _mm512_storeu_si512(to, lanes); }
  VoteSum plus(const int16_t* weights, VoteMask mask) const {
    return {_mm512_mask_add_epi16(lanes, mask.lanes, lanes, _mm512_load_si512(weights))};
  }
};

constexpr size_t kPairLanes = 16;

struct Grades {
  __m512i pairs;
  static Grades zero() { return {_mm512_setzero_si512()}; }
  // Bit k of both clauses' grades.
  Grades plus(const uint64_t* one, const uint64_t* other, size_t first, uint32_t k) const {
    __mmask16 low, high;
    memcpy(&low, reinterpret_cast<const char*>(one) + first / 8, sizeof low);
    memcpy(&high, reinterpret_cast<const char*>(other) + first / 8, sizeof high);
    const __m512i bit = _mm512_set1_epi32(1 << k);
    const __m512i with_low = _mm512_mask_or_epi32(pairs, low, pairs, bit);
    return {_mm512_mask_or_epi32(with_low, high, with_low, _mm512_slli_epi32(bit, 16))};
  }
};

struct PairSum {
  __m512i lanes;
  static PairSum load(const int32_t* from) { return {_mm512_loadu_si512(from)}; }
  void store(int32_t* to) const { _mm512_storeu_si512(to, lanes); }
  PairSum plus(const Grades& grades, const uint32_t* weights) const {
    const __m512i products = _mm512_madd_epi16(grades.pairs, _mm512_load_si512(weights));
    return {_mm512_add_epi32(lanes, products)};
  }
};

struct Mask {
  __mmask64 bits;

  static Mask from_bits(uint64_t bits) { return {bits}; }
  // A 32-bit hash holds the 16-bit draws of a feature's two literals, in the order in which the
  // literals lie.
  static Mask forget(const uint32_t* spread, Key key, uint32_t q) {
    if (q == 0) return {0};  // q - 1 would wrap round
    const __m512i a = _mm512_set1_epi32(static_cast<int>(key.a));
    const __m512i b = _mm512_set1_epi32(static_cast<int>(key.b));
    const __m512i last = _mm512_set1_epi16(static_cast<short>(q - 1));
    const uint64_t low = _mm512_cmple_epu16_mask(hash16(_mm512_loadu_si512(spread), a, b), last);
    const uint64_t high =
        _mm512_cmple_epu16_mask(hash16(_mm512_loadu_si512(spread + 16), a, b), last);
    return {low | high << 32};
  }
  Mask without(const Mask& other) const { return {bits & ~other.bits}; }
};

struct Row {
  __m512i entries;

  static Row zero() { return {_mm512_setzero_si512()}; }
  static Row load(const int8_t* from) { return {_mm512_loadu_si512(from)}; }
  void store(int8_t* to) const { _mm512_storeu_si512(to, entries); }
  uint64_t include_bits() const { return ~static_cast<uint64_t>(_mm512_movepi8_mask(entries)); }
  // The sign of the XOR is set where the signs differ.
  uint64_t flipped_bits(const Row& before) const {
    return _mm512_movepi8_mask(_mm512_xor_si512(entries, before.entries));
  }
  // Read as unsigned, negative entries are large.
  uint64_t near_edge_bits() const {
    return _mm512_cmplt_epu8_mask(entries, _mm512_set1_epi8(kMostOwed));
  }
  Row only(const Mask& mask) const { return {_mm512_maskz_mov_epi8(mask.bits, entries)}; }
  Row plus(const Mask& mask, int8_t times = 1) const {
    return {_mm512_mask_add_epi8(entries, mask.bits, entries, _mm512_set1_epi8(times))};
  }
  Row minus(const Mask& mask) const { return plus(mask, -1); }
  Row plus_saturated(const Row& delta) const { return {_mm512_adds_epi8(entries, delta.entries)}; }
  Row minus_saturated(const Row& other) const { return {_mm512_subs_epi8(entries, other.entries)}; }
  static Row forgets(const uint32_t* spread, const Key* keys, uint32_t count, uint32_t q) {
    if (q == 0) return zero();  // q - 1 would wrap round
    const __m512i last = _mm512_set1_epi16(static_cast<short>(q - 1));
    const __m512i one = _mm512_set1_epi16(1);
    const __m512i w0 = _mm512_loadu_si512(spread), w1 = _mm512_loadu_si512(spread + 16);
    __m512i n0 = _mm512_setzero_si512(), n1 = n0;  // 16 bits per literal
    for (uint32_t k = 0; k < count; ++k) {
      const __m512i a = _mm512_set1_epi32(static_cast<int>(keys[k].a));
      const __m512i b = _mm512_set1_epi32(static_cast<int>(keys[k].b));
      n0 = _mm512_mask_add_epi16(n0, _mm512_cmple_epu16_mask(hash16(w0, a, b), last), n0, one);
      n1 = _mm512_mask_add_epi16(n1, _mm512_cmple_epu16_mask(hash16(w1, a, b), last), n1, one);
    }
    return {_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(n0)),
                               _mm512_cvtepi16_epi8(n1), 1)};
  }
  Row clipped(int32_t lowest, int32_t highest) const {
    const __m512i top = _mm512_set1_epi8(static_cast<char>(highest));
    const __m512i floor = _mm512_set1_epi8(static_cast<char>(lowest));
    return {_mm512_max_epi8(_mm512_min_epi8(entries, top), floor)};
  }
};

#include "kernels/forgetting.inl"
#include "kernels/graded.inl"
#include "kernels/kernels.inl"

}  // namespace

const Kernels& kernels_avx512() { return table; }

}  // namespace cotm
