// One block in training: what it holds, and where that lies. train.cu explains the nouns.

#pragma once

#include "grades.cuh"

// What a block keeps for each output.
struct Outputs {
  i64* total;      // [2][m]: votes of all clauses, by turns
  u64* before;     // [2][m]: the ballot's words when they were last read, by turns
  u64* threshold;  // [2][m]: of Type I and Type II pairs
  Key* select;     // [2][m], by turns
  Sum* partial;    // [2][m]: votes of own clauses, for the current example and the next, by turns
  u8* target;      // [m]
};

static_assert(2 * sizeof(i64) + 6 * sizeof(u64) + 2 * sizeof(Key) + 1 == kOutputBytes,
              "the bytes that Python allows for an output, with the wider Sum");

__device__ __forceinline__ u32 output_bytes(u32 m) {
  return (m * static_cast<u32>(2 * sizeof(Sum) + 6 * sizeof(u64) + 2 * sizeof(Key)) + m + 15) / 16 *
         16;
}

__device__ __forceinline__ u32 team_count() { return warp_count() / kTeamWarps; }

struct Trainer {
  const Machine& machine;
  const Task& task;
  Clauses clauses;
  Outputs outputs;
  Shared* shared;
  Key* keys;        // of this warp
  Notes* notes;     // [teams]
  u32* picked;      // [teams][units], see Team
  u32* ahead;       // [2][planes][clauses]: what it says of each example of a batch, by turns
  Patch* slots;     // patches drawn for clauses that fire; or, first, the list of the chosen
  u32* is_chosen;   // a bit per local clause
  u32* own_words;   // [2][words]: batches in shared memory, by turns
  u32* own_images;  // [2][32][image_words]
  u32 turn;         // the current example

  __device__ __forceinline__ u32* ahead_of(u32 turn) const {
    return ahead + turn / kBatch % 2 * kPlanes * clauses.count;
  }
  __device__ __forceinline__ const u32* words_of(u32 turn) const {
    return shares(kWords) ? own_words + turn / kBatch % 2 * machine.words
                          : task.batches + static_cast<u64>(turn / kBatch) * machine.words;
  }
  __device__ __forceinline__ const u32* image_of(u32 turn) const {
    return shares(kImages) ? own_images + turn % (2 * kBatch) * machine.image_words
                           : task.images + static_cast<u64>(turn) * machine.image_words;
  }
  // What a clause says of an example.
  __device__ __forceinline__ u32 grade(u32 local, u32 turn) const {
    const u32* plane = ahead_of(turn) + local;
    u32 number = 0;
#pragma unroll
    for (u32 k = 0; k < kPlanes; ++k) {
      number |= (plane[k * clauses.count] >> turn % kBatch & 1) << k;
    }
    return number;
  }
  __device__ __forceinline__ bool fires(u32 local, u32 turn) const {
    const u32* plane = ahead_of(turn) + local;
    u32 any = plane[0];
#pragma unroll
    for (u32 k = 1; k < kPlanes; ++k) any |= plane[k * clauses.count];
    return any >> turn % kBatch & 1;
  }
  __device__ __forceinline__ u32* chosen() const { return reinterpret_cast<u32*>(slots); }
  __device__ __forceinline__ u64 step_key() const { return shared->step_key[turn % 2]; }
};

// Where the clauses of a block lie in global memory, and how much they take.
struct Home {
  u64 first, own;  // clauses before those of this block, and of this block
  i8* rows;
  i32* weights;
  Entry* lists;
  u64 row_bytes, weight_bytes, list_bytes, offset_bytes;
};

// Gives out memory in pieces that are aligned for any type: the block's shared memory, or what a
// part has elsewhere if there is no room for it. layout.py counts the same pieces.
struct SharedMemory {
  u8* free;

  __device__ __forceinline__ u8* take(u64 bytes) {
    u8* taken = free;
    free += (bytes + 15) / 16 * 16;
    return taken;
  }
  __device__ __forceinline__ void* place(Part part, u64 bytes, void* elsewhere) {
    return shares(part) ? static_cast<void*>(take(bytes)) : elsewhere;
  }
};

__device__ __forceinline__ void place_outputs(Trainer& t, u8* scratch) {
  const u32 m = t.machine.spec.m;
  const auto take = [&](u64 bytes) {
    u8* taken = scratch;
    scratch += m * bytes;
    return taken;
  };
  t.outputs.total = reinterpret_cast<i64*>(take(2 * sizeof(i64)));
  t.outputs.before = reinterpret_cast<u64*>(take(2 * sizeof(u64)));
  t.outputs.threshold = reinterpret_cast<u64*>(take(2 * sizeof(u64)));
  t.outputs.select = reinterpret_cast<Key*>(take(2 * sizeof(Key)));
  t.outputs.partial = reinterpret_cast<Sum*>(take(2 * sizeof(Sum)));
  t.outputs.target = take(1);
}

// Decides which clauses a block owns, and where everything of it lies. Python's LaunchLayout adds
// up the same pieces of shared memory. The order of the statements matters to the compiler: others
// cost registers.
__device__ __forceinline__ Home place_state(Trainer& t, void* shared_memory, u32 m) {
  const Machine& machine = t.machine;
  SharedMemory memory = {static_cast<u8*>(shared_memory)};
  const u64 first = static_cast<u64>(machine.spec.n) * blockIdx.x / gridDim.x;
  const u64 own = static_cast<u64>(machine.spec.n) * (blockIdx.x + 1) / gridDim.x - first;

  Clauses& clauses = t.clauses;
  clauses.first = static_cast<u32>(first);
  clauses.count = static_cast<u32>(own);
  t.shared = reinterpret_cast<Shared*>(memory.take(sizeof(Shared)));
  const u32 warp_keys = min(m, kKeys);
  t.keys = reinterpret_cast<Key*>(memory.take(warp_count() * warp_keys * sizeof(Key))) +
           warp_index() * warp_keys;
  if (kSampled) {
    t.notes = reinterpret_cast<Notes*>(memory.take(team_count() * sizeof(Notes)));
  }
  if (kTogether) {
    t.picked = reinterpret_cast<u32*>(memory.take(team_count() * 8 * u64{feature_words(machine)}));
  }
  place_outputs(
      t, static_cast<u8*>(memory.place(kOutputs, output_bytes(m),
                                       machine.outputs + blockIdx.x * u64{output_bytes(m)})));
  t.own_words = static_cast<u32*>(memory.place(kWords, 8 * u64{machine.words}, nullptr));
  t.own_images =
      static_cast<u32*>(memory.place(kImages, 8 * kBatch * u64{machine.image_words}, nullptr));
  const u64 offset_bytes = 4 * u64{machine.features - machine.positions};
  u32* offsets = static_cast<u32*>(memory.place(kOffsets, offset_bytes, nullptr));
  clauses.offsets = shares(kOffsets) ? offsets : machine.offsets;
  clauses.misses = machine.misses + first * (machine.grid_lines + machine.grid_columns);
  clauses.depths = machine.depths + first;
  clauses.heads =
      static_cast<Head*>(memory.place(kHeads, sizeof(Head) * own, machine.heads + first));
  t.ahead = static_cast<u32*>(
      memory.place(kHeads, 8 * kPlanes * own, machine.ahead + 2 * kPlanes * first));
  t.slots = static_cast<Patch*>(
      memory.place(kHeads, (kListed ? sizeof(u32) : sizeof(Patch)) * own, machine.slots + first));
  t.is_chosen = static_cast<u32*>(
      memory.place(kHeads, (own + 31) / 32 * 4, machine.is_chosen + first / 32 + blockIdx.x));
  const u64 row_bytes = own * machine.row_bytes, weight_bytes = own * m * 4;
  const u64 list_bytes = 2 * own * machine.capacity * sizeof(Entry);
  i8* rows = machine.rows + first * machine.row_bytes;
  i32* weights = machine.weights + first * m;
  Entry* lists = static_cast<Entry*>(machine.lists) + 2 * first * machine.capacity;
  clauses.weights = static_cast<i32*>(memory.place(kWeights, weight_bytes, weights));
  clauses.rows = static_cast<i8*>(memory.place(kRows, row_bytes, rows));
  clauses.lists = static_cast<Entry*>(memory.place(kLists, list_bytes, lists));
  return {first, own, rows, weights, lists, row_bytes, weight_bytes, list_bytes, offset_bytes};
}

// Calls visit(here, home, bytes) for every part of the state that was copied to shared memory.
template <class Visit>
__device__ __forceinline__ void each_copied(const Trainer& t, const Home& home, Visit visit) {
  const Clauses& clauses = t.clauses;
  if (shares(kHeads)) visit(clauses.heads, t.machine.heads + home.first, sizeof(Head) * home.own);
  if (shares(kWeights)) visit(clauses.weights, home.weights, home.weight_bytes);
  if (shares(kRows)) visit(clauses.rows, home.rows, home.row_bytes);
  if (shares(kLists)) visit(clauses.lists, home.lists, home.list_bytes);
}

__device__ __forceinline__ void load_state(Trainer& t, const Home& home) {
  const u32 thread = threadIdx.x, threads = blockDim.x;
  each_copied(t, home, [&](void* here, const void* there, u64 bytes) {
    copy_words(here, there, bytes, thread, threads);
  });
  if (shares(kOffsets)) {
    copy_words(const_cast<u32*>(t.clauses.offsets), t.machine.offsets, home.offset_bytes, thread,
               threads);
  }
  for (u32 k = thread; k < 2 * t.machine.spec.m; k += threads) {
    t.outputs.partial[k] = 0, t.outputs.before[k] = 0;
  }
  if (kSampled && thread < team_count()) t.notes[thread].count = t.notes[thread].changes = 0;
  if (kTogether) {
    const u32 units = team_count() * 2 * feature_words(t.machine);
    for (u32 u = thread; u < units; u += threads) t.picked[u] = 0;
  }
}

__device__ __forceinline__ void store_state(const Trainer& t, const Home& home) {
  each_copied(t, home, [&](const void* here, void* there, u64 bytes) {
    copy_words(there, here, bytes, threadIdx.x, blockDim.x);
  });
}
