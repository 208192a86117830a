// Misses of flat clauses on the 32 examples of a batch, counted, where literals are forgotten by a
// sample.
//
// A literal that comes or goes changes each count by at most 1, so that lists are read, and made
// anew where literals came or went since (Head::row is then 1), only when a batch opens. Lane e of
// a warp has the count of example e.

#pragma once

#include "planes.cuh"
#include "trainer.cuh"

__device__ __forceinline__ u32* missed_of(const Trainer& t, u32 local) {
  return t.machine.missed + kBatch * (u64{t.clauses.first} + local);
}

// Counts a clause's misses on the examples of a batch.
__device__ __forceinline__ void count_batch(const Trainer& t, const Team& team, u32 local,
                                            const u32* words) {
  u32* missed = missed_of(t, local) + lane_index();
  if (t.clauses.heads[local].row) rebuild_sliced(t.machine, t.clauses, local, team);
  if (kTogether && team.warp == 0) *missed = 0;
  team.meet();
  const Head head = t.clauses.heads[local];
  u32 misses = 0;
#pragma unroll 1
  for (u32 negated = 0; negated < 2; ++negated) {
    const Entry* list = list_of(t.machine, t.clauses, local, negated);
    const u32 length = negated ? head.negated : head.set, flip = negated ? 0 : kAll;
#pragma unroll 1
    for (u32 first = 32 * team.warp; first < length; first += team.threads()) {
      const u32 mine = first + lane_index() < length ? list[first + lane_index()] : 0;
      const u32 count = min(32u, length - first);
#pragma unroll 8
      for (u32 k = 0; k < count; ++k) {
        misses += (words[__shfl_sync(kAll, mine, k)] ^ flip) >> lane_index() & 1;
      }
    }
  }
  if (!kTogether) {
    *missed = misses;
  } else {
    if (misses) atomicAdd(missed, misses);
    team.meet();
  }
}

// Corrects the counts by the literals that were noted. By one warp.
__device__ __forceinline__ void count_changes(const Trainer& t, const Notes& notes, u32 local,
                                              const u32* words) {
  Head& head = t.clauses.heads[local];
  u32* missed = missed_of(t, local) + lane_index();
  const u32 mine = lane_index() < notes.count ? notes.edits[lane_index()] : 0;
  const u32 place = t.clauses.offsets[(mine & ~kAdded) / 2];
  u32 misses = *missed, others = head.others;
  __syncwarp();
#pragma unroll 4
  for (u32 k = 0; k < notes.count; ++k) {
    const u32 edit = __shfl_sync(kAll, mine, k), word = words[__shfl_sync(kAll, place, k)];
    const u32 miss = (word >> lane_index() & 1) == edit % 2;
    misses += edit & kAdded ? miss : 0 - miss;
    others += edit & kAdded ? 1 : kAll;
  }
  *missed = misses;
  if (lane_index() == 0) head.row = 1, head.others = others;
  __syncwarp();
}

// Writes down what a clause says of the coming examples. By one warp.
__device__ __forceinline__ void say_ahead(const Trainer& t, u32 local, u32 turn, u32 coming) {
  const u32 included = included_literals(t.clauses.heads[local]);
  const u32 most = min(t.machine.spec.tolerance, included);
  const u32 misses = missed_of(t, local)[lane_index()];
  const u32 says = included == 0 ? 1 : misses < most ? most - misses : 0;
  u32* place = t.ahead_of(turn) + local;
#pragma unroll
  for (u32 k = 0; k < kPlanes; ++k) {
    u32& plane = place[k * t.clauses.count];
    const u32 now = __ballot_sync(kAll, says >> k & 1);
    if (lane_index() == 0) plane = (plane & ~coming) | (now & coming);
  }
  __syncwarp();
}

// Before a batch: what a clause says of all of its examples.
__device__ __forceinline__ void count_ahead(const Trainer& t, const Team& team, u32 local) {
  const u32 next = t.turn + 1;
  count_batch(t, team, local, t.words_of(next));
  if (team.warp == 0) say_ahead(t, local, next, kAll);
}
