// Votes: how they are summed, how they cross between blocks, and what they tell.

#pragma once

#include "randomness.cuh"
#include "trainer.cuh"

// Whether a clause sleeps for the pass: it says nothing and gets no feedback.
__device__ __forceinline__ bool sleeps(const Trainer& t, u32 local) {
  if constexpr (!kDrops) return false;
  return hash32(t.shared->sleep, t.clauses.first + local) < t.machine.spec.drop_clauses;
}

// Adds the weights of one clause to a block's sums for an example, a number of times.
__device__ __forceinline__ void add_weights(const Trainer& t, u32 local, u32 turn, Sum times) {
  const u32 m = t.machine.spec.m;
  const i32* weights = t.clauses.weights + static_cast<u64>(local) * m;
#pragma unroll 1
  for (u32 i = lane_index(); i < m; i += 32)
    add(t.outputs.partial + turn % 2 * m + i, times * weights[i]);
}

// Adds the votes of all own clauses that fire on an example, by one of several workers.
__device__ __forceinline__ void add_votes(const Trainer& t, u32 turn, u32 worker, u32 workers) {
  const u32 m = t.machine.spec.m;
  Sum* votes = t.outputs.partial + turn % 2 * m;
#pragma unroll 1
  for (u32 chunk = worker; 32 * chunk < t.clauses.count; chunk += workers) {
    const u32 local = 32 * chunk + lane_index();
    const u32 grade = local < t.clauses.count ? t.grade(local, turn) : 0;
    const u32 firing = __ballot_sync(kAll, grade);
    if (!firing) continue;
    if constexpr (kGraded) {
#pragma unroll 1
      for (u32 first = 0; first < m; first += 32) {
        const u32 i = min(first + lane_index(), m - 1);
        Sum sum = 0;
#pragma unroll 1
        for (u32 lanes = firing; lanes; lanes &= lanes - 1) {
          const u32 lane = __ffs(lanes) - 1;
          const Sum times = static_cast<Sum>(__shfl_sync(kAll, grade, lane));
          sum += times * t.clauses.weights[static_cast<u64>(32 * chunk + lane) * m + i];
        }
        if (first + lane_index() < m) add(votes + i, sum);
      }
    } else {
      for (u32 i = lane_index(); i < m; i += 32) {
        Sum sum = 0;
#pragma unroll 1
        for (u32 lanes = firing; lanes; lanes &= lanes - 1) {
          sum += t.clauses.weights[static_cast<u64>(32 * chunk + __ffs(lanes) - 1) * m + i];
        }
        add(votes + i, sum);
      }
    }
  }
}

// The ballot: words through which votes cross between blocks, without a fence. Each word is the
// sum of arrivals << 48 and of votes since the launch, so that it tells by itself who has arrived.
// A block has a step's votes when the arrivals since its last reading are those of all blocks.
// There are two words per output, by turns: nobody can arrive at the next step but one before
// everybody has read this one.
__device__ __forceinline__ void cast(u64* word, i64 votes) {
  const u64 ballot = (u64{1} << 48) + static_cast<u64>(votes);
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(word), "l"(ballot) : "memory");
}

__device__ __forceinline__ i64 collect(const u64* word, u64& before) {
  for (;;) {
    u64 now;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(word) : "memory");
    const i64 news = static_cast<i64>(now - before);
    const i64 votes = static_cast<i64>(static_cast<u64>(news) << 16) >> 16;
    if (static_cast<u32>((news - votes) >> 48) == gridDim.x) {
      before = now;
      return votes;
    }
  }
}

// distance * scale / (2 T), rounded down, and at most 2**32, which is certainty. The quotient is
// estimated with the inverse, and corrected: a division of 64 bits would take far longer.
__device__ __forceinline__ u64 scaled(const Machine& machine, u64 distance, u64 scale) {
  const u64 full = 2 * static_cast<u64>(machine.spec.T);
  const u64 product = distance * scale;
  if constexpr (kHeavy) {  // without, no product is beyond certainty
    if (__umul64hi(distance, scale) || product >= full << 32) return u64{1} << 32;
  }
  u64 quotient = static_cast<u64>(static_cast<double>(product) * machine.per_full);
  if (quotient * full > product) --quotient;
  if (product - quotient * full >= full) ++quotient;
  return quotient;
}

// The target of an output in one of the turns.
__device__ __forceinline__ Target target_of(const Trainer& t, u32 turn, u32 i) {
  return static_cast<const Target*>(t.task.targets)[u64{turn} * t.machine.spec.m + i];
}

// Whether the example of a turn asks an output; the others neither vote, nor count, nor learn.
__device__ __forceinline__ bool asks(const Trainer& t, u32 turn, u32 i) {
  return !kPartly || t.task.asked[u64{turn} * t.machine.spec.m + i];
}

// Below which random number a pair of output i is selected: how far its votes are from what it
// wants, which for classes is the margin, and of quantities as many votes as the target says.
__device__ void set_thresholds(Trainer& t, u32 i, i64 votes, Target target, const u64* scale) {
  const Machine& machine = t.machine;
  const i64 T = machine.spec.T;
  const i64 missing = static_cast<i64>(target) - votes;
  const i64 clipped = min(max(votes, -T), T);
  const u8 more = kQuantities ? missing > 0 : target != 0;
  const u64 distance = static_cast<u64>(kQuantities ? min(missing < 0 ? -missing : missing, 2 * T)
                                        : more      ? T - clipped
                                                    : T + clipped);
  const u64 factor1 = machine.spec.e_scales_type2 || more ? scale[0] : scale[1];
  const u64 factor2 = machine.spec.e_scales_type2 ? scale[1] : factor1;
  const bool asked = asks(t, t.turn, i);
  t.outputs.threshold[i] = asked ? scaled(machine, distance, factor1) : 0;
  t.outputs.threshold[machine.spec.m + i] = asked ? scaled(machine, distance, factor2) : 0;
  t.outputs.target[i] = more;
}

// The part of a turn's draw of one output that falls to an output, see Purpose kNegative.
__device__ __forceinline__ u64 share_of(const Trainer& t, u32 i, const i64* total) {
  if (i >= t.machine.spec.m || t.outputs.target[i] || !asks(t, t.turn, i)) return 0;
  const i64 T = t.machine.spec.T;
  return t.machine.spec.negatives == 1 ? 1 : static_cast<u64>(T + min(max(total[i], -T), T));
}

// Of the outputs with target 0, only the one that is drawn keeps its thresholds. By one warp.
__device__ void keep_one_negative(const Trainer& t) {
  const u32 m = t.machine.spec.m;
  const i64* total = t.outputs.total + t.turn % 2 * m;
  u64 all = 0;
#pragma unroll 1
  for (u32 i = lane_index(); i < m; i += 32) all += share_of(t, i, total);
  for (u32 s = 16; s; s /= 2) all += __shfl_xor_sync(kAll, all, s);
  const u64 draw = hash32(make_key(t.step_key(), kNegative, 0, 0), 0);
  const u64 place = draw * (all >> 32) + (draw * (all & kAll) >> 32);  // draw * all >> 32
  u64 before = 0;  // shares of outputs before this lane's
#pragma unroll 1
  for (u32 first = 0; first < m; first += 32) {
    const u32 i = first + lane_index();
    u64 up_to = share_of(t, i, total);
    const u64 mine = up_to;
    for (u32 s = 1; s < 32; s *= 2) {
      const u64 below = __shfl_up_sync(kAll, up_to, s);
      if (lane_index() >= s) up_to += below;
    }
    up_to += before;
    const bool is_drawn = up_to > place && up_to - mine <= place;
    if (i < m && !t.outputs.target[i] && !is_drawn) {
      t.outputs.threshold[i] = t.outputs.threshold[m + i] = 0;
    }
    before = __shfl_sync(kAll, up_to, 31);
  }
}

// How well the votes met the targets of an earlier turn; lanes of one warp.
__device__ __forceinline__ void count(const Trainer& t, u32 turn, u64& hits, u64& correct,
                                      u64& missed) {
  const u32 m = t.machine.spec.m;
  const i64* total = t.outputs.total + turn % 2 * m;
  if constexpr (kQuantities) {
    u64 off = 0;
    for (u32 i = lane_index(); i < m; i += 32) {
      if (!asks(t, turn, i)) continue;
      const i64 missing = static_cast<i64>(target_of(t, turn, i)) - total[i];
      off += static_cast<u64>(missing < 0 ? -missing : missing);
    }
    for (u32 s = 16; s; s /= 2) off += __shfl_xor_sync(kAll, off, s);
    missed += off;
    return;
  }
  i64 best = 0;
  u32 winner = m, met = 0;
  for (u32 i = lane_index(); i < m; i += 32) {
    if (!asks(t, turn, i)) continue;
    if (winner == m || total[i] > best) best = total[i], winner = i;
    met += (total[i] >= 0) == (target_of(t, turn, i) == 1);
  }
  for (u32 s = 16; s; s /= 2) {
    const i64 other = __shfl_xor_sync(kAll, best, s);
    const u32 rival = __shfl_xor_sync(kAll, winner, s);
    if (rival < m && (winner == m || other > best || (other == best && rival < winner))) {
      best = other, winner = rival;
    }
  }
  if (!kPartly || winner < m) hits += target_of(t, turn, winner);
  correct += warp_reduce<kSum>(met);
}
