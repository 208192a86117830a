// Kernels for NEON, which every processor of aarch64 has: a Mask is 64 bytes of 0x00 or 0xFF, an
// Octet four registers.
//
// A flag is a lane of all ones, that is of -1: subtracting it adds 1. A draw is < q iff it is
// <= q - 1, which fits 16 bits where q does not.
#include <arm_neon.h>
#include <string.h>

#include "kernels/kernels.hpp"

namespace cotm {
namespace {

constexpr const char* kIsaName = "neon";

// hash32_spread of four indices.
inline uint32x4_t hash4(uint32x4_t spread, uint32x4_t a, uint32x4_t b) {
  const uint32x4_t x = veorq_u32(spread, a);
  const uint32x4_t y = vmulq_u32(x, vaddq_u32(vaddq_u32(x, x), b));
  return veorq_u32(y, vshrq_n_u32(y, 16));
}

// The lower half of every lane of 16 bits, of two vectors.
inline uint8x16_t narrow(uint16x8_t first, uint16x8_t second) {
  return vuzp1q_u8(vreinterpretq_u8_u16(first), vreinterpretq_u8_u16(second));
}

// A flag of 16 bits for each one of 32.
inline uint16x8_t narrow(uint32x4_t first, uint32x4_t second) {
  return vuzp1q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(second));
}

// In each half, byte k has bit k.
inline uint8x16_t bit_of_byte() { return vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u)); }

// A bit for each of 64 flags: of eight bytes with a bit each, three additions of neighbours make
// one with all.
inline uint64_t bits_of(uint8x16_t f0, uint8x16_t f1, uint8x16_t f2, uint8x16_t f3) {
  const uint8x16_t bit = bit_of_byte();
  const uint8x16_t low = vpaddq_u8(vandq_u8(f0, bit), vandq_u8(f1, bit));
  const uint8x16_t high = vpaddq_u8(vandq_u8(f2, bit), vandq_u8(f3, bit));
  const uint8x16_t four = vpaddq_u8(low, high);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(four, four)), 0);
}

constexpr uint32_t kFirst[4] = {0, 1, 2, 3};

// Bit j: hash32(key, first + j) <= last. The products index * kGolden of spread() are sums: four
// indices on, they are 4 * kGolden more.
uint64_t select64(Key key, uint32_t first, uint32_t last) {
  const uint32x4_t a = vdupq_n_u32(key.a), b = vdupq_n_u32(key.b), limit = vdupq_n_u32(last);
  const uint32x4_t next = vdupq_n_u32(4 * kGolden);
  uint32x4_t w = vmulq_n_u32(vaddq_u32(vld1q_u32(kFirst), vdupq_n_u32(first)), kGolden);
  uint8x16_t flags[4];
  for (uint8x16_t& sixteen : flags) {
    uint32x4_t hits[4];
    for (uint32x4_t& four : hits) {
      four = vcleq_u32(hash4(veorq_u32(w, vshrq_n_u32(w, 16)), a, b), limit);
      w = vaddq_u32(w, next);
    }
    sixteen = narrow(narrow(hits[0], hits[1]), narrow(hits[2], hits[3]));
  }
  return bits_of(flags[0], flags[1], flags[2], flags[3]);
}

// Picks first, first + 1, ...: literal floor(hash * literals / 2^32), where it lies in here.
void pick_lanes(Key key, uint32_t first, uint32_t features, uint32_t* to) {
  const uint32x4_t a = vdupq_n_u32(key.a), b = vdupq_n_u32(key.b);
  const uint32x4_t count = vdupq_n_u32(features), back = vdupq_n_u32(2 * features - 1);
  for (uint32_t k = 0; k < kPickLanes; k += 4) {
    const uint32x4_t w = vmulq_n_u32(vaddq_u32(vld1q_u32(kFirst), vdupq_n_u32(first + k)), kGolden);
    const uint32x4_t hash = hash4(veorq_u32(w, vshrq_n_u32(w, 16)), a, b);
    const uint64x2_t low = vmull_n_u32(vget_low_u32(hash), 2 * features);
    const uint64x2_t high = vmull_high_n_u32(hash, 2 * features);
    const uint32x4_t outer = vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(high));
    const uint32x4_t negated = vcgeq_u32(outer, count);
    vst1q_u32(to + k, vsubq_u32(vaddq_u32(outer, outer), vandq_u32(negated, back)));
  }
}

// A nibble of features as a byte of literals.
constexpr uint8_t kLiteralsOfNibble[16] = {0xAA, 0xA9, 0xA6, 0xA5, 0x9A, 0x99, 0x96, 0x95,
                                           0x6A, 0x69, 0x66, 0x65, 0x5A, 0x59, 0x56, 0x55};

// Interleaves as many words as whole vectors have; returns how many.
size_t interleave_many(const uint64_t* features, const uint64_t* valid, size_t words,
                       uint64_t* truth) {
  const uint8x16_t table = vld1q_u8(kLiteralsOfNibble);
  size_t w = 0;
  for (; w + 4 <= words; w += 4) {
    const uint8x16_t bytes = vreinterpretq_u8_u64(vld1q_u64(features + w / 2));
    const uint8x16_t even = vqtbl1q_u8(table, vandq_u8(bytes, vdupq_n_u8(0x0F)));
    const uint8x16_t odd = vqtbl1q_u8(table, vshrq_n_u8(bytes, 4));
    const uint64x2_t low = vreinterpretq_u64_u8(vzip1q_u8(even, odd));
    const uint64x2_t high = vreinterpretq_u64_u8(vzip2q_u8(even, odd));
    vst1q_u64(truth + w, vandq_u64(low, vld1q_u64(valid + w)));
    vst1q_u64(truth + w + 2, vandq_u64(high, vld1q_u64(valid + w + 2)));
  }
  return w;
}

// Grades of 64 clauses: most minus misses, or 0; returns a bit for each that is above 0.
uint64_t less_misses(const uint16_t* misses, const uint16_t* most, uint16_t* grades) {
  uint8x16_t fires[4];
  for (size_t k = 0; k < 4; ++k) {
    const size_t j = 16 * k;
    const uint16x8_t first = vqsubq_u16(vld1q_u16(most + j), vld1q_u16(misses + j));
    const uint16x8_t second = vqsubq_u16(vld1q_u16(most + j + 8), vld1q_u16(misses + j + 8));
    vst1q_u16(grades + j, first);
    vst1q_u16(grades + j + 8, second);
    fires[k] = narrow(vtstq_u16(first, first), vtstq_u16(second, second));
  }
  return bits_of(fires[0], fires[1], fires[2], fires[3]);
}

constexpr uint32_t kLanes = 4;

struct Lanes {
  uint64x2_t low, high;

  static Lanes load(const uint64_t* from) { return {vld1q_u64(from), vld1q_u64(from + 2)}; }
  static Lanes all(uint64_t word) { return {vdupq_n_u64(word), vdupq_n_u64(word)}; }
  void store(uint64_t* to) const {
    vst1q_u64(to, low);
    vst1q_u64(to + 2, high);
  }
  Lanes operator&(const Lanes& other) const {
    return {vandq_u64(low, other.low), vandq_u64(high, other.high)};
  }
  Lanes operator|(const Lanes& other) const {
    return {vorrq_u64(low, other.low), vorrq_u64(high, other.high)};
  }
  Lanes operator^(const Lanes& other) const {
    return {veorq_u64(low, other.low), veorq_u64(high, other.high)};
  }
  Lanes without(const Lanes& other) const {
    return {vbicq_u64(low, other.low), vbicq_u64(high, other.high)};
  }
  bool any() const { return vmaxvq_u32(vreinterpretq_u32_u64(vorrq_u64(low, high))) != 0; }
  uint64_t or_of_lanes() const {
    const uint64x2_t two = vorrq_u64(low, high);
    return vgetq_lane_u64(two, 0) | vgetq_lane_u64(two, 1);
  }
  // The bit is shifted to where lane k wants it, and all lanes are added up.
  uint32_t lanes_with_bit(unsigned bit) const {
    const uint64x2_t one = vdupq_n_u64(1);
    const int64x2_t down = vdupq_n_s64(-static_cast<int64_t>(bit));
    const uint64x2_t first = vandq_u64(vshlq_u64(low, down), one);
    const uint64x2_t second = vandq_u64(vshlq_u64(high, down), one);
    const uint64x2_t both = vorrq_u64(first, vshlq_n_u64(second, 2));
    return static_cast<uint32_t>(vgetq_lane_u64(both, 0) | vgetq_lane_u64(both, 1) << 1);
  }
};

struct Octet {
  Lanes low, high;

  static Octet load(const uint64_t* from) { return {Lanes::load(from), Lanes::load(from + 4)}; }
  static Octet all(uint64_t word) { return {Lanes::all(word), Lanes::all(word)}; }
  void store(uint64_t* to) const {
    low.store(to);
    high.store(to + 4);
  }
  Octet operator&(const Octet& other) const { return {low & other.low, high & other.high}; }
  Octet operator|(const Octet& other) const { return {low | other.low, high | other.high}; }
  Octet operator^(const Octet& other) const { return {low ^ other.low, high ^ other.high}; }
  Octet without(const Octet& other) const {
    return {low.without(other.low), high.without(other.high)};
  }
  bool any() const { return (low | high).any(); }
};

constexpr size_t kVoteLanes = 16;

constexpr uint16_t kBits[8] = {1, 2, 4, 8, 16, 32, 64, 128};

struct VoteMask {
  uint16x8_t low, high;
  // The 16 bits in every lane; each lane keeps its own.
  static VoteMask from(const uint64_t* found, size_t first) {
    uint16_t bits;
    memcpy(&bits, reinterpret_cast<const char*>(found) + first / 8, sizeof bits);
    const uint16x8_t all = vdupq_n_u16(bits), bit = vld1q_u16(kBits);
    return {vtstq_u16(all, bit), vtstq_u16(all, vshlq_n_u16(bit, 8))};
  }
};

struct VoteSum {
  int16x8_t low, high;
  static VoteSum zero() { return {vdupq_n_s16(0), vdupq_n_s16(0)}; }
  static VoteSum load(const int16_t* from) { return {vld1q_s16(from), vld1q_s16(from + 8)}; }
  void store(int16_t* to) const {
    vst1q_s16(to, low);
    vst1q_s16(to + 8, high);
  }
  // The weight is the same in all lanes.
  VoteSum plus(const int16_t* weights, VoteMask mask) const {
    const int16x8_t add = vld1q_s16(weights);
    return {vaddq_s16(low, vandq_s16(add, vreinterpretq_s16_u16(mask.low))),
            vaddq_s16(high, vandq_s16(add, vreinterpretq_s16_u16(mask.high)))};
  }
};

constexpr size_t kPairLanes = 8;

// Here what one clause says, and what the other does, lie in a vector each.
struct Grades {
  int16x8_t one, other;
  static Grades zero() { return {vdupq_n_s16(0), vdupq_n_s16(0)}; }
  // Bit k of both clauses' grades.
  Grades plus(const uint64_t* first_clause, const uint64_t* second_clause, size_t first,
              uint32_t k) const {
    const int16x8_t bit = vdupq_n_s16(static_cast<int16_t>(1 << k));
    const auto with = [&](int16x8_t grades, const uint64_t* found) {
      const uint16_t bits = reinterpret_cast<const uint8_t*>(found)[first / 8];
      const uint16x8_t ones = vtstq_u16(vdupq_n_u16(bits), vld1q_u16(kBits));
      return vorrq_s16(grades, vandq_s16(vreinterpretq_s16_u16(ones), bit));
    };
    return {with(one, first_clause), with(other, second_clause)};
  }
};

struct PairSum {
  int32x4_t low, high;
  static PairSum load(const int32_t* from) { return {vld1q_s32(from), vld1q_s32(from + 4)}; }
  void store(int32_t* to) const {
    vst1q_s32(to, low);
    vst1q_s32(to + 4, high);
  }
  // The two weights are the same in all words.
  PairSum plus(const Grades& grades, const uint32_t* weights) const {
    const int16x4_t by = vreinterpret_s16_u32(vld1_u32(weights));
    const int16x4_t one = vget_low_s16(grades.one), other = vget_low_s16(grades.other);
    return {vmlal_lane_s16(vmlal_lane_s16(low, one, by, 0), other, by, 1),
            vmlal_high_lane_s16(vmlal_high_lane_s16(high, grades.one, by, 0), grades.other, by, 1)};
  }
};

// A flag for every 16-bit draw <= last.
inline uint16x8_t at_most(uint32x4_t draws, uint16x8_t last) {
  return vcleq_u16(vreinterpretq_u16_u32(draws), last);
}

// Flags of the 16 literals of eight features. A 32-bit hash holds the 16-bit draws of a feature's
// two literals, in the order in which the literals lie.
inline uint8x16_t forget16(uint32x4_t first, uint32x4_t second, Key key, uint16x8_t last) {
  const uint32x4_t a = vdupq_n_u32(key.a), b = vdupq_n_u32(key.b);
  return narrow(at_most(hash4(first, a, b), last), at_most(hash4(second, a, b), last));
}

struct Mask {
  uint8x16_t flags[4];  // of 16 literals each

  // The table lookup copies to each byte the one of `bits` that has its bit.
  static Mask from_bits(uint64_t bits) {
    const uint8x16_t all = vreinterpretq_u8_u64(vdupq_n_u64(bits)), bit = bit_of_byte();
    uint8x16_t which = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1));
    Mask mask;
    for (uint8x16_t& sixteen : mask.flags) {
      sixteen = vtstq_u8(vqtbl1q_u8(all, which), bit);
      which = vaddq_u8(which, vdupq_n_u8(2));
    }
    return mask;
  }
  static Mask forget(const uint32_t* spread, Key key, uint32_t q) {
    Mask mask{};
    if (q == 0) return mask;  // q - 1 would wrap round
    const uint16x8_t last = vdupq_n_u16(static_cast<uint16_t>(q - 1));
    for (uint8x16_t& sixteen : mask.flags) {
      sixteen = forget16(vld1q_u32(spread), vld1q_u32(spread + 4), key, last);
      spread += 8;
    }
    return mask;
  }
  Mask without(const Mask& other) const {
    Mask mask;
    for (int k = 0; k < 4; ++k) mask.flags[k] = vbicq_u8(flags[k], other.flags[k]);
    return mask;
  }
};

struct Row {
  int8x16_t entries[4];  // of 16 literals each

  // A row of which `make(k)` are the entries from 16 k on.
  template <class Make>
  static Row of(Make make) {
    return {make(0), make(1), make(2), make(3)};
  }
  static Row zero() {
    return of([](int) { return vdupq_n_s8(0); });
  }
  static Row load(const int8_t* from) {
    return of([&](int k) { return vld1q_s8(from + 16 * k); });
  }
  void store(int8_t* to) const {
    for (int k = 0; k < 4; ++k) vst1q_s8(to + 16 * k, entries[k]);
  }
  uint64_t include_bits() const {
    return bits_of(vcgezq_s8(entries[0]), vcgezq_s8(entries[1]), vcgezq_s8(entries[2]),
                   vcgezq_s8(entries[3]));
  }
  // The sign of the XOR is set where the signs differ.
  uint64_t flipped_bits(const Row& before) const {
    return ~of([&](int k) { return veorq_s8(entries[k], before.entries[k]); }).include_bits();
  }
  // Read as unsigned, negative entries are large.
  uint64_t near_edge_bits() const {
    const auto near = [&](int k) {
      return vcltq_u8(vreinterpretq_u8_s8(entries[k]), vdupq_n_u8(kMostOwed));
    };
    return bits_of(near(0), near(1), near(2), near(3));
  }
  Row only(const Mask& mask) const {
    return of([&](int k) { return vandq_s8(entries[k], vreinterpretq_s8_u8(mask.flags[k])); });
  }
  Row plus(const Mask& mask) const {
    return of([&](int k) { return vsubq_s8(entries[k], vreinterpretq_s8_u8(mask.flags[k])); });
  }
  Row plus(const Mask& mask, int8_t times) const {
    const int8x16_t amount = vdupq_n_s8(times);
    return of([&](int k) {
      return vaddq_s8(entries[k], vandq_s8(vreinterpretq_s8_u8(mask.flags[k]), amount));
    });
  }
  Row minus(const Mask& mask) const {
    return of([&](int k) { return vaddq_s8(entries[k], vreinterpretq_s8_u8(mask.flags[k])); });
  }
  Row plus_saturated(const Row& delta) const {
    return of([&](int k) { return vqaddq_s8(entries[k], delta.entries[k]); });
  }
  Row minus_saturated(const Row& other) const {
    return of([&](int k) { return vqsubq_s8(entries[k], other.entries[k]); });
  }
  static Row forgets(const uint32_t* spread, const Key* keys, uint32_t count, uint32_t q) {
    Row row = zero();
    if (q == 0) return row;  // q - 1 would wrap round
    const uint16x8_t last = vdupq_n_u16(static_cast<uint16_t>(q - 1));
    uint32x4_t words[8];
    for (int k = 0; k < 8; ++k) words[k] = vld1q_u32(spread + 4 * k);
    for (uint32_t i = 0; i < count; ++i) {
      row = of([&](int k) {
        const uint8x16_t forget = forget16(words[2 * k], words[2 * k + 1], keys[i], last);
        return vsubq_s8(row.entries[k], vreinterpretq_s8_u8(forget));
      });
    }
    return row;
  }
  Row clipped(int32_t lowest, int32_t highest) const {
    const int8x16_t top = vdupq_n_s8(static_cast<int8_t>(highest));
    const int8x16_t floor = vdupq_n_s8(static_cast<int8_t>(lowest));
    return of([&](int k) { return vmaxq_s8(vminq_s8(entries[k], top), floor); });
  }
};

#include "kernels/forgetting.inl"
#include "kernels/graded.inl"
#include "kernels/kernels.inl"

}  // namespace

const Kernels& kernels_neon() { return table; }

}  // namespace cotm
