// Memory rows as bit planes, where literals are forgotten by a sample.
//
// Feedback to a clause that fires then draws no lots: its true literals go up, its false ones that
// are excluded go up or down, all by the same number. So bit k of all entries of a row lie together
// as plane k, a word for 32 features or for their negations ("unit"), and moving 32 entries is
// arithmetic on a few words. The planes follow each other, so that lanes read neighbouring words;
// in each, units of features come first. Plane 7 is the sign: 1 is excluded.

#pragma once

#include "clauses.cuh"

constexpr u32 kBits = 8;  // of an entry
constexpr u32 kNoted = sizeof(Notes::edits) / sizeof(u32);

constexpr u32 kAdded = 1u << 31, kRemoved = 1u << 30;  // how the literals of a clause changed

// The warps that work on one clause: one, or several of a block.
struct Team {
  u32 warp, warps;
  u32 barrier;  // at which they meet
  Notes* notes;
  u32* picked;  // [units], zero between calls, of several warps
  u32* fresh;   // [units] if kLimited: literals that were added

  __device__ __forceinline__ u32 thread() const { return 32 * warp + lane_index(); }
  __device__ __forceinline__ u32 threads() const { return 32 * warps; }
  __device__ __forceinline__ void meet() const {
    if (kTogether) {
      asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads()) : "memory");
    } else {
      __syncwarp();
    }
  }
  // They meet, and learn whether something is so for any of their threads.
  __device__ __forceinline__ bool meet_any(bool is_so) const {
    u32 any;
    asm volatile(
        "{ .reg .pred mine, all; setp.ne.u32 mine, %1, 0; bar.red.or.pred all, %2, %3, mine; "
        "selp.u32 %0, 1, 0, all; }"
        : "=r"(any)
        : "r"(static_cast<u32>(is_so)), "r"(barrier), "r"(threads())
        : "memory");
    return any;
  }
};

// Where 32 literals lie in a row, and which of them there are.
struct Unit {
  u32 index;    // among the units
  u32 feature;  // the first
  u32 negated;  // 0 or 1
  u32 valid;    // a bit per literal that is no padding
  u32 awake;    // and does not sleep
};

__device__ __forceinline__ Unit unit_at(const Machine& machine, u32 index) {
  const u32 words = feature_words(machine);
  const bool negated = index >= words;
  const u32 feature = 32 * (index - (negated ? words : 0));
  const u32 rest = machine.features - feature;
  const u32 valid = rest < 32 ? (1u << rest) - 1 : kAll;
  return {index, feature, negated, valid, kSleeps ? valid & machine.awake[index] : valid};
}

// 32 entries of a row.
struct Sliced {
  u32 plane[kBits];

  __device__ __forceinline__ void load(const u32* row, u32 units, u32 unit) {
#pragma unroll
    for (u32 k = 0; k < kBits; ++k) plane[k] = row[k * units + unit];
  }
  __device__ __forceinline__ void store(u32* row, u32 units, u32 unit) const {
#pragma unroll
    for (u32 k = 0; k < kBits; ++k) row[k * units + unit] = plane[k];
  }
  __device__ __forceinline__ u32 signs() const { return plane[kBits - 1]; }

  // Which entries are a number.
  __device__ __forceinline__ u32 are(i32 number) const {
    u32 all = kAll;
#pragma unroll
    for (u32 k = 0; k < kBits; ++k) all &= ~(plane[k] ^ (number >> k & 1 ? kAll : 0));
    return all;
  }

  // Adds 1 to some entries and takes 1 from others, within the memory's bounds.
  __device__ __forceinline__ void move(const Spec& spec, u32 up, u32 down) {
    up &= ~are(spec.top());
    down &= ~are(-spec.N);
    u32 carry = 0;
#pragma unroll
    for (u32 k = 0; k < kBits; ++k) {
      const u32 addend = k ? down : up | down, from = plane[k];  // -1 has all bits set
      plane[k] = from ^ addend ^ carry;
      carry = (from & addend) | (carry & (from | addend));
    }
  }
};

// Notes which literals of a unit crossed between excluded and included.
__device__ __forceinline__ void note(Notes* notes, const Unit& unit, u32 flips, u32 before) {
  if (!flips) return;
  const u32 added = flips & before;
  atomicOr(&notes->changes, (added ? kAdded : 0) | (flips & ~before ? kRemoved : 0));
  u32 slot = atomicAdd(&notes->count, __popc(flips));
#pragma unroll 1
  for (u32 bits = flips; bits && slot < kNoted; bits &= bits - 1, ++slot) {
    const u32 literal = 2 * (unit.feature + __ffs(bits) - 1) + unit.negated;
    notes->edits[slot] = literal | (added & bits & -bits ? kAdded : 0);
  }
}

// Makes the lists and the head of a clause from its row. Nobody else may read them meanwhile.
__device__ __forceinline__ void rebuild_sliced(const Machine& machine, const Clauses& clauses,
                                               u32 local, const Team& team) {
  const u32* row = row_of(machine, clauses, local);
  const u32 units = 2 * feature_words(machine);
  if (team.thread() == 0) team.notes->length[0] = team.notes->length[1] = 0;
  team.meet();
#pragma unroll 1
  for (u32 u = team.thread(); u < units; u += team.threads()) {
    const Unit unit = unit_at(machine, u);
    u32 in = ~row[(kBits - 1) * units + u] & unit.awake;
    if (unit.feature < machine.positions) {
      const u32 before = machine.positions - unit.feature;  // features before the content
      in &= before < 32 ? kAll << before : 0;
    }
    if (!in) continue;
    Entry* list = list_of(machine, clauses, local, unit.negated) +
                  atomicAdd(team.notes->length + unit.negated, __popc(in));
#pragma unroll 1
    for (; in; in &= in - 1) {
      const u32 feature = unit.feature + __ffs(in) - 1;
      *list++ = static_cast<Entry>(clauses.offsets[feature - machine.positions]);
    }
  }
  team.meet();
  if (team.warp) return;
  finish_lists(machine, clauses, local, whole_head(machine, team.notes->length), true);
}
