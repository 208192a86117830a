// Kernels in portable C++: every processor, and the twin the wide ones are compared with.
#include "kernels/kernels.hpp"

namespace cotm {
namespace {

constexpr const char* kIsaName = "baseline";

uint64_t select64(Key key, uint32_t first, uint32_t last) {
  uint64_t bits = 0;
  for (uint32_t j = 0; j < 64; ++j) {
    bits |= static_cast<uint64_t>(hash32(key, first + j) <= last) << j;
  }
  return bits;
}

// Picks first, first + 1, ...: literal floor(hash * literals / 2^32), where it lies in here.
void pick_lanes(Key key, uint32_t first, uint32_t features, uint32_t* to) {
  for (uint32_t lane = 0; lane < kPickLanes; ++lane) {
    const uint64_t hash = hash32(key, first + lane);
    const uint32_t outer = static_cast<uint32_t>(hash * (2 * features) >> 32);
    to[lane] = outer < features ? 2 * outer : 2 * (outer - features) + 1;
  }
}

size_t interleave_many(const uint64_t*, const uint64_t*, size_t, uint64_t*) { return 0; }

// Grades of 64 clauses: most minus misses, or 0; returns a bit for each that is above 0.
uint64_t less_misses(const uint16_t* misses, const uint16_t* most, uint16_t* grades) {
  uint64_t fires = 0;
  for (size_t j = 0; j < 64; ++j) {
    grades[j] = most[j] > misses[j] ? static_cast<uint16_t>(most[j] - misses[j]) : 0;
    fires |= static_cast<uint64_t>(grades[j] != 0) << j;
  }
  return fires;
}

struct Octet {
  uint64_t words[kBlockWords];

  static Octet load(const uint64_t* from) {
    Octet o;
    for (size_t w = 0; w < kBlockWords; ++w) o.words[w] = from[w];
    return o;
  }
  static Octet all(uint64_t word) {
    Octet o;
    for (size_t w = 0; w < kBlockWords; ++w) o.words[w] = word;
    return o;
  }
  void store(uint64_t* to) const {
    for (size_t w = 0; w < kBlockWords; ++w) to[w] = words[w];
  }
  Octet operator&(const Octet& other) const {
    Octet o;
    for (size_t w = 0; w < kBlockWords; ++w) o.words[w] = words[w] & other.words[w];
    return o;
  }
  Octet operator|(const Octet& other) const {
    Octet o;
    for (size_t w = 0; w < kBlockWords; ++w) o.words[w] = words[w] | other.words[w];
    return o;
  }
  Octet operator^(const Octet& other) const {
    Octet o;
    for (size_t w = 0; w < kBlockWords; ++w) o.words[w] = words[w] ^ other.words[w];
    return o;
  }
  Octet without(const Octet& other) const {
    Octet o;
    for (size_t w = 0; w < kBlockWords; ++w) o.words[w] = words[w] & ~other.words[w];
    return o;
  }
  bool any() const { return or_of_lanes() != 0; }
  uint64_t or_of_lanes() const {
    uint64_t all = 0;
    for (size_t w = 0; w < kBlockWords; ++w) all |= words[w];
    return all;
  }
  uint32_t lanes_with_bit(unsigned bit) const {
    uint32_t lanes = 0;
    for (size_t w = 0; w < kBlockWords; ++w) {
      lanes |= static_cast<uint32_t>(words[w] >> bit & 1) << w;
    }
    return lanes;
  }
};

constexpr uint32_t kLanes = kBlockWords;
using Lanes = Octet;

constexpr size_t kVoteLanes = 8;

struct VoteMask {
  int16_t lanes[kVoteLanes];  // 0 or -1
  static VoteMask from(const uint64_t* found, size_t first) {
    const uint64_t bits = found[first / 64] >> (first % 64);
    VoteMask m;
    for (size_t e = 0; e < kVoteLanes; ++e) m.lanes[e] = static_cast<int16_t>(-(bits >> e & 1));
    return m;
  }
};

struct VoteSum {
  int16_t lanes[kVoteLanes];
  static VoteSum zero() { return VoteSum{}; }
  static VoteSum load(const int16_t* from) {
    VoteSum sum;
    for (size_t e = 0; e < kVoteLanes; ++e) sum.lanes[e] = from[e];
    return sum;
  }
  void store(int16_t* to) const {
    for (size_t e = 0; e < kVoteLanes; ++e) to[e] = lanes[e];
  }
  VoteSum plus(const int16_t* weights, const VoteMask& mask) const {
    VoteSum sum;
    for (size_t e = 0; e < kVoteLanes; ++e) {
      sum.lanes[e] = static_cast<int16_t>(lanes[e] + (weights[e] & mask.lanes[e]));
    }
    return sum;
  }
};

constexpr size_t kPairLanes = 8;

struct Grades {
  int16_t pairs[2 * kPairLanes];
  static Grades zero() { return Grades{}; }
  // Bit k of both clauses' grades.
  Grades plus(const uint64_t* one, const uint64_t* other, size_t first, uint32_t k) const {
    Grades more;
    for (size_t e = 0; e < kPairLanes; ++e) {
      const uint64_t low = one[first / 64] >> (first % 64 + e) & 1;
      const uint64_t high = other[first / 64] >> (first % 64 + e) & 1;
      more.pairs[2 * e] = static_cast<int16_t>(pairs[2 * e] | low << k);
      more.pairs[2 * e + 1] = static_cast<int16_t>(pairs[2 * e + 1] | high << k);
    }
    return more;
  }
};

struct PairSum {
  int32_t lanes[kPairLanes];
  static PairSum load(const int32_t* from) {
    PairSum sum;
    for (size_t e = 0; e < kPairLanes; ++e) sum.lanes[e] = from[e];
    return sum;
  }
  void store(int32_t* to) const {
    for (size_t e = 0; e < kPairLanes; ++e) to[e] = lanes[e];
  }
  PairSum plus(const Grades& grades, const uint32_t* weights) const {
    PairSum sum;
    for (size_t e = 0; e < kPairLanes; ++e) {
      sum.lanes[e] = lanes[e] + grades.pairs[2 * e] * static_cast<int16_t>(weights[e]) +
                     grades.pairs[2 * e + 1] * static_cast<int16_t>(weights[e] >> 16);
    }
    return sum;
  }
};

struct Mask {
  int8_t flags[64];  // 0 or 1

  static Mask from_bits(uint64_t bits) {
    Mask m;
    for (int l = 0; l < 64; ++l) m.flags[l] = static_cast<int8_t>(bits >> l & 1);
    return m;
  }
  static Mask forget(const uint32_t* spread, Key key, uint32_t q) {
    Mask m;
    for (int k = 0; k < 32; ++k) {
      const uint32_t word = hash32_spread(key, spread[k]);
      m.flags[2 * k] = (word & 0xFFFF) < q;
      m.flags[2 * k + 1] = (word >> 16) < q;
    }
    return m;
  }
  Mask without(const Mask& other) const {
    Mask m;
    for (int l = 0; l < 64; ++l) m.flags[l] = static_cast<int8_t>(flags[l] & ~other.flags[l]);
    return m;
  }
};

struct Row {
  int8_t entries[64];

  static Row zero() { return Row{}; }
  static Row load(const int8_t* from) {
    Row r;
    for (int l = 0; l < 64; ++l) r.entries[l] = from[l];
    return r;
  }
  void store(int8_t* to) const {
    for (int l = 0; l < 64; ++l) to[l] = entries[l];
  }
  uint64_t include_bits() const {
    uint64_t bits = 0;
    for (int l = 0; l < 64; ++l) bits |= static_cast<uint64_t>(entries[l] >= 0) << l;
    return bits;
  }
  uint64_t flipped_bits(const Row& before) const { return include_bits() ^ before.include_bits(); }
  uint64_t near_edge_bits() const {
    uint64_t bits = 0;
    for (int l = 0; l < 64; ++l) {
      bits |= static_cast<uint64_t>(entries[l] >= 0 && entries[l] < kMostOwed) << l;
    }
    return bits;
  }
  Row only(const Mask& mask) const {
    Row r;
    for (int l = 0; l < 64; ++l) r.entries[l] = static_cast<int8_t>(mask.flags[l] * entries[l]);
    return r;
  }
  Row plus(const Mask& mask, int8_t times = 1) const {
    Row r;
    for (int l = 0; l < 64; ++l) {
      r.entries[l] = static_cast<int8_t>(entries[l] + mask.flags[l] * times);
    }
    return r;
  }
  Row minus(const Mask& mask) const { return plus(mask, -1); }
  Row plus_saturated(const Row& delta) const {
    Row r;
    for (int l = 0; l < 64; ++l) {
      const int sum = entries[l] + delta.entries[l];
      r.entries[l] = static_cast<int8_t>(sum > 127 ? 127 : sum < -128 ? -128 : sum);
    }
    return r;
  }
  Row minus_saturated(const Row& other) const {
    Row r;
    for (int l = 0; l < 64; ++l) {
      const int difference = entries[l] - other.entries[l];
      r.entries[l] = static_cast<int8_t>(difference < -128 ? -128 : difference);
    }
    return r;
  }
  static Row forgets(const uint32_t* spread, const Key* keys, uint32_t count, uint32_t q) {
    Row r = zero();
    for (uint32_t k = 0; k < count; ++k) r = r.plus(Mask::forget(spread, keys[k], q));
    return r;
  }
  Row clipped(int32_t lowest, int32_t highest) const {
    Row r;
    for (int l = 0; l < 64; ++l) {
      const int32_t high = entries[l] > highest ? highest : entries[l];
      r.entries[l] = static_cast<int8_t>(high < lowest ? lowest : high);
    }
    return r;
  }
};

#include "kernels/forgetting.inl"
#include "kernels/graded.inl"
#include "kernels/kernels.inl"

}  // namespace

const Kernels& kernels_baseline() { return table; }

}  // namespace cotm
