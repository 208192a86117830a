// Selection: which clauses learn from an example, from which outputs, and by which random numbers.

#pragma once

#include "randomness.cuh"
#include "votes.cuh"

// 1 or 2: the type of feedback that output i has for a clause; 0: none, or none that does
// anything, which is Type II where the clause does not fire.
__device__ __forceinline__ u32 selected_type(const Trainer& t, u32 i, u32 pi, bool negative,
                                             bool fires) {
  const bool type2 = negative == (t.outputs.target[i] != 0);
  const u64 threshold = t.outputs.threshold[(type2 ? t.machine.spec.m : 0) + i];
  return pi < threshold && (!type2 || fires) ? 1 + type2 : 0;
}

__device__ __forceinline__ u32 feedback_type(const Trainer& t, u32 local, u32 i, bool fires) {
  if (sleeps(t, local)) return 0;
  const u32 clause = t.clauses.first + local;
  const bool negative = t.clauses.weights[static_cast<u64>(local) * t.machine.spec.m + i] < 0;
  const u32 type = selected_type(
      t, i, hash32(t.outputs.select[t.turn % 2 * t.machine.spec.m + i], clause), negative, fires);
  if (t.machine.spec.sharing) return type;
  const u64 place = static_cast<u64>(clause) * t.machine.spec.m, n = t.machine.spec.n;
  return i * n <= place && place < (i + 1) * n ? type : 0;  // an output selects among its own
}

// Puts the clauses that get feedback on the list. A warp looks at 32 clauses for one output.
__device__ __forceinline__ void select(const Trainer& t) {
  const u32 chunks = (t.clauses.count + 31) / 32;
  u32 chunk = 0, i = warp_index();
#pragma unroll 1
  for (;; i += warp_count()) {
    for (; i >= t.machine.spec.m; i -= t.machine.spec.m) ++chunk;
    if (chunk >= chunks) return;
    const u32 local = 32 * chunk + lane_index();
    const bool takes =
        local < t.clauses.count && feedback_type(t, local, i, t.fires(local, t.turn));
    const u32 lanes = __ballot_sync(kAll, takes);
    if (!lanes) continue;
    u32 fresh = 0, place = 0;
    if (lane_index() == 0) {
      fresh = lanes & ~atomicOr(t.is_chosen + chunk, lanes);
      if (fresh) place = atomicAdd(&t.shared->chosen, __popc(fresh));
    }
    fresh = __shfl_sync(kAll, fresh, 0);
    place = __shfl_sync(kAll, place, 0);
    if (fresh >> lane_index() & 1) t.chosen()[place + __popc(fresh & lanes_below())] = local;
  }
}

// What a clause is told about one example.
struct Feedback {
  bool fires;
  u32 type1, type2;   // outputs that give it
  const u32* base;    // words of the patch it learns from
  u32 bit;            // of the example in a word
  u32 row, column;    // of that patch; the row of its depth
  u32 depth;          // of that patch, in a volume
  bool grows;         // it memorizes what is true
  const u32* packed;  // bits of the flat example it learns from, if kSampled
};

// Whether a feature of the patch a clause learns from is 1. `placed`: it may tell the position.
// Without branches, which would cost more than the reading of a word that is not needed.
__device__ __forceinline__ bool feature_value(const Trainer& t, const Feedback& feedback, u32 f,
                                              bool placed) {
  const u32 positions = t.machine.positions;
  const u32 content = min(f, t.machine.features - 1) - positions;
  if (!kSearches || !placed) return feedback.base[t.clauses.offsets[content]] & feedback.bit;
  const u32 offset = f < positions ? 0 : t.clauses.offsets[content];
  const bool value = feedback.base[offset] & feedback.bit;
  const u32 of_rows = row_features(t.machine), of_depths = depth_features(t.machine);
  const u32 g = f - of_depths;
  bool beyond = g < of_rows ? feedback.row > g : feedback.column > g - of_rows;
  if (kVolumes && f < of_depths) beyond = feedback.depth > f;
  return f < positions ? beyond : value;
}

// Counts the outputs that give a clause feedback, and makes the keys of its Type I draws as far as
// there is room. Returns the type from the lane's output, of the last 32 outputs.
__device__ __forceinline__ u32 gather_feedback(const Trainer& t, u32 local, Feedback& feedback) {
  u32 type = 0;
  __syncwarp();  // the keys of the clause before were read
  const u32 chunks = kMany ? (t.machine.spec.m + 31) / 32 : 1;
#pragma unroll 1
  for (u32 chunk = 0; chunk < chunks; ++chunk) {
    const u32 i = 32 * chunk + lane_index();
    type = i < t.machine.spec.m ? feedback_type(t, local, i, feedback.fires) : 0;
    const u32 lanes = __ballot_sync(kAll, type == 1);
    const u32 slot = feedback.type1 + __popc(lanes & lanes_below());
    feedback.type1 += __popc(lanes);
    feedback.type2 += __popc(__ballot_sync(kAll, type == 2));
    if (kSampled && feedback.fires) continue;  // it draws no lots
    if (type == 1 && slot < kKeys) {
      t.keys[slot] = make_key(t.step_key(), kDraw, i, t.clauses.first + local);
    }
  }
  return type;
}

// Calls visit with the key of every Type I draw.
template <class Visit>
__device__ __forceinline__ void each_key(const Trainer& t, u32 local, const Feedback& feedback,
                                         Visit visit) {
  if (kMany && feedback.type1 > kKeys) {
#pragma unroll 1
    for (u32 first = 0; first < t.machine.spec.m; first += 32) {
      const u32 i = first + lane_index();
      const bool gives = i < t.machine.spec.m && feedback_type(t, local, i, feedback.fires) == 1;
      const Key key = make_key(t.step_key(), kDraw, i, t.clauses.first + local);
      for (u32 lanes = __ballot_sync(kAll, gives); lanes; lanes &= lanes - 1) {
        const i32 lane = __ffs(lanes) - 1;
        visit(Key{__shfl_sync(kAll, key.a, lane), __shfl_sync(kAll, key.b, lane)});
      }
    }
  } else {
#pragma unroll 1
    for (u32 k = 0; k < feedback.type1; ++k) visit(t.keys[k]);
  }
}
