// Prediction: which clauses fire on an example, and the votes of those that do.

#include "grades.cuh"
#include "planes.cuh"

__device__ __forceinline__ Clauses all_clauses(const Machine& machine) {
  return {0,
          machine.spec.n,
          machine.rows,
          machine.weights,
          static_cast<Entry*>(machine.lists),
          machine.heads,
          machine.misses,
          machine.depths,
          machine.offsets};
}

// Makes the include lists of every clause, a warp for each.
extern "C" __global__ void __launch_bounds__(256)
    list_literals(const __grid_constant__ Machine machine) {
  __shared__ Notes notes[8];
  const u32 clause = blockIdx.x * warp_count() + warp_index();
  if (clause >= machine.spec.n) return;
  if constexpr (kSampled) {
    rebuild_sliced(machine, all_clauses(machine), clause, {0, 1, 0, notes + warp_index()});
  } else {
    rebuild(machine, all_clauses(machine), clause);
  }
}

// A clause without literals is silent in prediction. Any position literal narrows the window of a
// strict one.
__device__ __forceinline__ bool is_empty(const Machine& machine, u32 clause) {
  const Head head = machine.heads[clause];
  if (kGraded) return included_literals(head) == 0;
  if (kDeep && machine.depths[clause].count < machine.grid_depths) return false;
  return head.set + head.negated == 0 && head.rows == machine.grid_rows &&
         head.columns == machine.grid_columns;
}

// Lists the "live" clauses, a thread for each: those that can fire and have a weight other than 0.
// A clause without a patch in its window contradicts itself.
extern "C" __global__ void list_clauses(const __grid_constant__ Machine machine, u32* list,
                                        u32* length) {
  const u32 clause = blockIdx.x * blockDim.x + threadIdx.x;
  if (clause >= machine.spec.n) return;
  const Head head = machine.heads[clause];
  if (is_empty(machine, clause) || head.rows == 0 || head.columns == 0) return;
  for (u32 i = 0; i < machine.spec.m; ++i) {
    if (machine.weights[static_cast<u64>(clause) * machine.spec.m + i] == 0) continue;
    list[atomicAdd(length, 1)] = clause;
    return;
  }
}

__device__ __forceinline__ u32 valid_examples(u32 batch, u32 examples) {
  const u32 here = min(kBatch, examples - batch * kBatch);
  return here == 32 ? kAll : (1u << here) - 1;
}

// The words of a batch, brought to shared memory if `copy`.
__device__ const u32* batch_words(const Machine& machine, const u32* batches, u32 batch, u32* to,
                                  u32 copy) {
  const u32* words = batches + static_cast<u64>(batch) * machine.words;
  if (!copy) return words;
  copy_words(to, words, 4 * static_cast<u64>(machine.words), threadIdx.x, blockDim.x);
  __syncthreads();
  return to;
}

constexpr u32 kVoteChunk = 8;            // outputs whose votes a lane sums at a time
constexpr u32 kLive = kSlice / kPlanes;  // live clauses of a slice

// votes[example][output]: a block takes one batch and a slice of the live clauses. A lane sums the
// votes for one example.
extern "C" __global__ void __launch_bounds__(512, 2)
    vote(const __grid_constant__ Machine machine, const u32* live_list, const u32* live_count,
         const u32* batches, const u32 examples, const u32 copy, i64* votes) {
  extern __shared__ u32 batch_memory[];
  __shared__ Grades says[kLive];
  const u32 live = *live_count, first = blockIdx.y * kLive;
  if (first >= live) return;
  const u32 here = min(kLive, live - first);
  const u32* words = batch_words(machine, batches, blockIdx.x, batch_memory, copy);
  const Clauses clauses = all_clauses(machine);
  const u32* list = live_list + first;
  const u32 valid = valid_examples(blockIdx.x, examples);
  for (u32 k = warp_index(); k < here; k += warp_count()) {
    const Grades found = grade(machine, clauses, list[k], words, valid);
    if (lane_index() == 0) says[k] = found;
  }
  __syncthreads();
  const u32 example = blockIdx.x * kBatch + lane_index();
  for (u32 chunk = 0; chunk < machine.spec.m; chunk += kVoteChunk) {
    Sum sums[kVoteChunk] = {};
    for (u32 k = warp_index(); k < here; k += warp_count()) {
      u32 found = 0, mine = 0;
#pragma unroll
      for (u32 p = 0; p < kPlanes; ++p) {
        found |= says[k].plane[p];
        mine |= (says[k].plane[p] >> lane_index() & 1) << p;
      }
      if (!found) continue;
      const i32* weights = machine.weights + static_cast<u64>(list[k]) * machine.spec.m + chunk;
#pragma unroll
      for (u32 i = 0; i < kVoteChunk; ++i) {
        if (chunk + i < machine.spec.m) {
          const Sum weight = weights[i];
          sums[i] += kGraded ? weight * static_cast<Sum>(mine) : mine ? weight : 0;
        }
      }
    }
#pragma unroll
    for (u32 i = 0; i < kVoteChunk; ++i) {
      if (example < examples && chunk + i < machine.spec.m && sums[i]) {
        add(votes + static_cast<u64>(example) * machine.spec.m + chunk + i,
            static_cast<i64>(sums[i]));
      }
    }
  }
}

// outputs[example][clause]: whether it fires, or of a graded clause the number it says. A warp
// takes 32 clauses.
extern "C" __global__ void __launch_bounds__(512, 2)
    say(const __grid_constant__ Machine machine, const u32* batches, const u32 examples,
        const u32 copy, Output* outputs) {
  extern __shared__ u32 batch_memory[];
  const u32* words = batch_words(machine, batches, blockIdx.x, batch_memory, copy);
  const Clauses clauses = all_clauses(machine);
  const u32 valid = valid_examples(blockIdx.x, examples);
  const u32 first = 32 * (blockIdx.y * warp_count() + warp_index());
  Grades mine = {};
  for (u32 k = 0; k < 32 && first + k < machine.spec.n; ++k) {
    if (is_empty(machine, first + k)) continue;
    const Grades found = grade(machine, clauses, first + k, words, valid);
    if (k == lane_index()) mine = found;
  }
  if (first + lane_index() >= machine.spec.n) return;
  for (u32 k = 0; k < kBatch && blockIdx.x * kBatch + k < examples; ++k) {
    u32 says = 0;
#pragma unroll
    for (u32 p = 0; p < kPlanes; ++p) says |= (mine.plane[p] >> k & 1) << p;
    outputs[static_cast<u64>(blockIdx.x * kBatch + k) * machine.spec.n + first + lane_index()] =
        static_cast<Output>(says);
  }
}
