// Kernels for AVX2: a Mask is 64 bytes of 0x00 or 0xFF, an Octet two registers.
//
// A flag is a lane of all ones, that is of -1: subtracting it adds 1. AVX2 compares signed numbers
// only; of unsigned ones x <= y iff min(x, y) == x, and a draw is < q iff it is <= q - 1.
#include <immintrin.h>
#include <string.h>

#include "kernels/kernels.hpp"

namespace cotm {
namespace {

constexpr const char* kIsaName = "avx2";

// hash32_spread of eight indices.
inline __m256i hash8(__m256i spread, __m256i a, __m256i b) {
  const __m256i x = _mm256_xor_si256(spread, a);
  const __m256i y = _mm256_mullo_epi32(x, _mm256_add_epi32(_mm256_add_epi32(x, x), b));
  return _mm256_xor_si256(y, _mm256_srli_epi32(y, 16));
}

// Bit j: hash32(key, first + j) <= last. The products index * kGolden of spread() are sums: eight
// indices on, they are 8 * kGolden more.
uint64_t select64(Key key, uint32_t first, uint32_t last) {
  const __m256i a = _mm256_set1_epi32(static_cast<int>(key.a));
  const __m256i b = _mm256_set1_epi32(static_cast<int>(key.b));
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(last));
  const __m256i golden = _mm256_set1_epi32(static_cast<int>(kGolden));
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i w = _mm256_mullo_epi32(
      _mm256_add_epi32(lanes, _mm256_set1_epi32(static_cast<int>(first))), golden);
  const __m256i next = _mm256_set1_epi32(static_cast<int>(8 * kGolden));
  uint64_t bits = 0;
  for (int group = 0; group < 8; ++group) {
    const __m256i h = hash8(_mm256_xor_si256(w, _mm256_srli_epi32(w, 16)), a, b);
    const __m256i hit = _mm256_cmpeq_epi32(_mm256_min_epu32(h, limit), h);
    bits |= static_cast<uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(hit))) << (8 * group);
    w = _mm256_add_epi32(w, next);
  }
  return bits;
}

// Picks first, first + 1, ...: literal floor(hash * literals / 2^32), where it lies in here.
// Numbers of literals have 30 bits, so that signs do not matter.
void pick_lanes(Key key, uint32_t first, uint32_t features, uint32_t* to) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i literals = _mm256_set1_epi32(static_cast<int>(2 * features));
  for (uint32_t half = 0; half < kPickLanes; half += 8) {
    const __m256i index =
        _mm256_add_epi32(lanes, _mm256_set1_epi32(static_cast<int>(first + half)));
    const __m256i w = _mm256_mullo_epi32(index, _mm256_set1_epi32(static_cast<int>(kGolden)));
    const __m256i hash = hash8(_mm256_xor_si256(w, _mm256_srli_epi32(w, 16)),
                               _mm256_set1_epi32(static_cast<int>(key.a)),
                               _mm256_set1_epi32(static_cast<int>(key.b)));
    const __m256i even = _mm256_mul_epu32(hash, literals);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(hash, 32), literals);
    const __m256i outer = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    const __m256i last = _mm256_set1_epi32(static_cast<int>(features - 1));
    const __m256i negated = _mm256_cmpgt_epi32(outer, last);
    const __m256i back = _mm256_set1_epi32(static_cast<int>(2 * features - 1));
    const __m256i inner =
        _mm256_sub_epi32(_mm256_slli_epi32(outer, 1), _mm256_and_si256(negated, back));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + half), inner);
  }
}

// A nibble of features as a byte of literals.
alignas(16) constexpr uint8_t kLiteralsOfNibble[16] = {
    0xAA, 0xA9, 0xA6, 0xA5, 0x9A, 0x99, 0x96, 0x95, 0x6A, 0x69, 0x66, 0x65, 0x5A, 0x59, 0x56, 0x55};

// Interleaves as many words as whole vectors have; returns how many.
size_t interleave_many(const uint64_t* features, const uint64_t* valid, size_t words,
                       uint64_t* truth) {
  const __m256i table = _mm256_broadcastsi128_si256(
      _mm_load_si128(reinterpret_cast<const __m128i*>(kLiteralsOfNibble)));
  const __m256i nibbles = _mm256_set1_epi8(0x0F);
  size_t w = 0;
  for (; w + 4 <= words; w += 4) {
    const __m256i bytes =
        _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(features + w / 2)));
    const __m256i apart =
        _mm256_and_si256(_mm256_or_si256(bytes, _mm256_slli_epi16(bytes, 4)), nibbles);
    const __m256i kept = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(valid + w));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(truth + w),
                        _mm256_and_si256(_mm256_shuffle_epi8(table, apart), kept));
  }
  return w;
}

// Grades of 64 clauses: most minus misses, or 0; returns a bit for each that is above 0.
uint64_t less_misses(const uint16_t* misses, const uint16_t* most, uint16_t* grades) {
  uint64_t silent = 0;
  for (size_t j = 0; j < 64; j += 16) {
    const __m256i rest =
        _mm256_subs_epu16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(most + j)),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(misses + j)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(grades + j), rest);
    const __m256i zero = _mm256_cmpeq_epi16(rest, _mm256_setzero_si256());
    // As bytes, of which packing takes 128-bit halves one after the other.
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(zero), _mm256_extracti128_si256(zero, 1));
    silent |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(bytes))) << j;
  }
  return ~silent;
}

constexpr uint32_t kLanes = 4;

struct Lanes {
  __m256i words;

  static Lanes load(const uint64_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  static Lanes all(uint64_t word) { return {_mm256_set1_epi64x(static_cast<long long>(word))}; }
  Lanes operator&(const Lanes& other) const { return {_mm256_and_si256(words, other.words)}; }
  Lanes operator|(const Lanes& other) const { return {_mm256_or_si256(words, other.words)}; }
  Lanes operator^(const Lanes& other) const { return {_mm256_xor_si256(words, other.words)}; }
  Lanes without(const Lanes& other) const { return {_mm256_andnot_si256(other.words, words)}; }
  void store(uint64_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words); }
  bool any() const { return !_mm256_testz_si256(words, words); }
  uint64_t or_of_lanes() const {
    const __m128i two =
        _mm_or_si128(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return static_cast<uint64_t>(
        _mm_cvtsi128_si64(_mm_or_si128(two, _mm_unpackhi_epi64(two, two))));
  }
  // The bit is shifted to where movemask reads the sign of a double.
  uint32_t lanes_with_bit(unsigned bit) const {
    const __m256i top = _mm256_sll_epi64(words, _mm_cvtsi32_si128(static_cast<int>(63 - bit)));
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(top)));
  }
};

struct Octet {
  Lanes low, high;

  static Octet load(const uint64_t* from) { return {Lanes::load(from), Lanes::load(from + 4)}; }
  void store(uint64_t* to) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low.words);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 4), high.words);
  }
  Octet operator&(const Octet& other) const { return {low & other.low, high & other.high}; }
  Octet operator|(const Octet& other) const { return {low | other.low, high | other.high}; }
  Octet operator^(const Octet& other) const { return {low ^ other.low, high ^ other.high}; }
  Octet without(const Octet& other) const {
    return {low.without(other.low), high.without(other.high)};
  }
  static Octet all(uint64_t word) { return {Lanes::all(word), Lanes::all(word)}; }
  bool any() const { return (low | high).any(); }
};

constexpr size_t kVoteLanes = 16;

struct VoteMask {
  __m256i lanes;
  // The 16 bits in every lane; each lane keeps its own.
  static VoteMask from(const uint64_t* found, size_t first) {
    short bits;
    memcpy(&bits, reinterpret_cast<const char*>(found) + first / 8, sizeof bits);
    const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                                          8192, 16384, static_cast<short>(32768));
    const __m256i all = _mm256_set1_epi16(bits);
    return {_mm256_cmpeq_epi16(_mm256_and_si256(all, bit), bit)};
  }
};

struct VoteSum {
  __m256i lanes;
  static VoteSum zero() { return {_mm256_setzero_si256()}; }
  static VoteSum load(const int16_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  void store(int16_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), lanes); }
  VoteSum plus(const int16_t* weights, VoteMask mask) const {
    const __m256i add = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights));
    return {_mm256_add_epi16(lanes, _mm256_and_si256(add, mask.lanes))};
  }
};

constexpr size_t kPairLanes = 8;

struct Grades {
  __m256i pairs;
  static Grades zero() { return {_mm256_setzero_si256()}; }
  // Bit k of both clauses' grades.
  Grades plus(const uint64_t* one, const uint64_t* other, size_t first, uint32_t k) const {
    const int low = reinterpret_cast<const uint8_t*>(one)[first / 8];
    const int high = reinterpret_cast<const uint8_t*>(other)[first / 8];
    const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const auto ones = [&](int bits) {
      return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits), lane), lane);
    };
    const __m256i both = _mm256_blend_epi16(ones(low), ones(high), 0xAA);
    const __m256i bit = _mm256_set1_epi16(static_cast<short>(1 << k));
    return {_mm256_or_si256(pairs, _mm256_and_si256(both, bit))};
  }
};

struct PairSum {
  __m256i lanes;
  static PairSum load(const int32_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  void store(int32_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), lanes); }
  PairSum plus(const Grades& grades, const uint32_t* weights) const {
    const __m256i by = _mm256_load_si256(reinterpret_cast<const __m256i*>(weights));
    return {_mm256_add_epi32(lanes, _mm256_madd_epi16(grades.pairs, by))};
  }
};

// Bit l becomes byte l, 0x00 or 0xFF: the shuffle copies to each byte the one of `bits` that has
// its bit (it works within 128-bit halves, which all hold the same four bytes), and the AND selects
// it.
inline __m256i expand(uint32_t bits) {
  const __m256i which = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2,
                                         2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i bit = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), which);
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
}

// Packing two vectors of 16-bit numbers to one of bytes works within 128-bit halves: of a and b it
// gives a's first eight, b's first eight, a's last eight, b's last eight. Exchanging the two
// quarters in the middle (0xD8: take quarters 0, 2, 1, 3) puts them in order.
inline __m256i pack_in_order(__m256i first, __m256i second) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xD8);
}

// A flag for every 16-bit draw <= last.
inline __m256i at_most(__m256i draws, __m256i last) {
  return _mm256_cmpeq_epi16(_mm256_min_epu16(draws, last), draws);
}

struct Mask {
  __m256i low, high;  // literals 0 to 31, and 32 to 63

  static Mask from_bits(uint64_t bits) {
    return {expand(static_cast<uint32_t>(bits)), expand(static_cast<uint32_t>(bits >> 32))};
  }
  // A 32-bit hash holds the 16-bit draws of a feature's two literals, in the order in which the
  // literals lie.
  static __m256i forget32(const uint32_t* spread, __m256i a, __m256i b, __m256i last) {
    const __m256i* words = reinterpret_cast<const __m256i*>(spread);
    const __m256i h0 = hash8(_mm256_loadu_si256(words), a, b);
    const __m256i h1 = hash8(_mm256_loadu_si256(words + 1), a, b);
    return pack_in_order(at_most(h0, last), at_most(h1, last));
  }
  static Mask forget(const uint32_t* spread, Key key, uint32_t q) {
    if (q == 0) return {_mm256_setzero_si256(), _mm256_setzero_si256()};  // q - 1 would wrap round
    const __m256i a = _mm256_set1_epi32(static_cast<int>(key.a));
    const __m256i b = _mm256_set1_epi32(static_cast<int>(key.b));
    const __m256i last = _mm256_set1_epi16(static_cast<short>(q - 1));
    return {forget32(spread, a, b, last), forget32(spread + 16, a, b, last)};
  }
  Mask without(const Mask& other) const {
    return {_mm256_andnot_si256(other.low, low), _mm256_andnot_si256(other.high, high)};
  }
};

struct Row {
  __m256i low, high;  // entries of literals 0 to 31, and 32 to 63

  static Row zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Row load(const int8_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32))};
  }
  void store(int8_t* to) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), high);
  }
  // movemask gathers the signs.
  uint64_t include_bits() const {
    const uint64_t negative_low = static_cast<uint32_t>(_mm256_movemask_epi8(low));
    const uint64_t negative_high = static_cast<uint32_t>(_mm256_movemask_epi8(high));
    return ~(negative_low | negative_high << 32);
  }
  // The sign of the XOR is set where the signs differ.
  uint64_t flipped_bits(const Row& before) const {
    return ~Row{_mm256_xor_si256(low, before.low), _mm256_xor_si256(high, before.high)}
                .include_bits();
  }
  uint64_t near_edge_bits() const {
    const __m256i limit = _mm256_set1_epi8(kMostOwed);
    const uint64_t low_half =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(limit, low)));
    const uint64_t high_half =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(limit, high)));
    return (low_half | high_half << 32) & include_bits();
  }
  Row only(const Mask& mask) const {
    return {_mm256_and_si256(low, mask.low), _mm256_and_si256(high, mask.high)};
  }
  Row plus(const Mask& mask) const {
    return {_mm256_sub_epi8(low, mask.low), _mm256_sub_epi8(high, mask.high)};
  }
  Row plus(const Mask& mask, int8_t times) const {
    const __m256i amount = _mm256_set1_epi8(times);
    return {_mm256_add_epi8(low, _mm256_and_si256(mask.low, amount)),
            _mm256_add_epi8(high, _mm256_and_si256(mask.high, amount))};
  }
  Row minus(const Mask& mask) const {
    return {_mm256_add_epi8(low, mask.low), _mm256_add_epi8(high, mask.high)};
  }
  Row plus_saturated(const Row& delta) const {
    return {_mm256_adds_epi8(low, delta.low), _mm256_adds_epi8(high, delta.high)};
  }
  Row minus_saturated(const Row& other) const {
    return {_mm256_subs_epi8(low, other.low), _mm256_subs_epi8(high, other.high)};
  }
  static Row forgets(const uint32_t* spread, const Key* keys, uint32_t count, uint32_t q) {
    if (q == 0) return zero();  // q - 1 would wrap round
    const __m256i last = _mm256_set1_epi16(static_cast<short>(q - 1));
    const __m256i* words = reinterpret_cast<const __m256i*>(spread);
    const __m256i w0 = _mm256_loadu_si256(words), w1 = _mm256_loadu_si256(words + 1),
                  w2 = _mm256_loadu_si256(words + 2), w3 = _mm256_loadu_si256(words + 3);
    __m256i n0 = _mm256_setzero_si256(), n1 = n0, n2 = n0, n3 = n0;  // 16 bits per literal
    for (uint32_t k = 0; k < count; ++k) {
      const __m256i a = _mm256_set1_epi32(static_cast<int>(keys[k].a));
      const __m256i b = _mm256_set1_epi32(static_cast<int>(keys[k].b));
      const __m256i h0 = hash8(w0, a, b), h1 = hash8(w1, a, b), h2 = hash8(w2, a, b),
                    h3 = hash8(w3, a, b);
      n0 = _mm256_sub_epi16(n0, at_most(h0, last));
      n1 = _mm256_sub_epi16(n1, at_most(h1, last));
      n2 = _mm256_sub_epi16(n2, at_most(h2, last));
      n3 = _mm256_sub_epi16(n3, at_most(h3, last));
    }
    return {pack_in_order(n0, n1), pack_in_order(n2, n3)};
  }
  Row clipped(int32_t lowest, int32_t highest) const {
    const __m256i top = _mm256_set1_epi8(static_cast<char>(highest));
    const __m256i floor = _mm256_set1_epi8(static_cast<char>(lowest));
    return {_mm256_max_epi8(_mm256_min_epi8(low, top), floor),
            _mm256_max_epi8(_mm256_min_epi8(high, top), floor)};
  }
};

#include "kernels/forgetting.inl"
#include "kernels/graded.inl"
#include "kernels/kernels.inl"

}  // namespace

const Kernels& kernels_avx2() { return table; }

}  // namespace cotm
