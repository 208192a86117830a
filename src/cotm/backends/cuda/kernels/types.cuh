// What all kernels share: integers, sizes, and the structs that Python fills.
//
// This text is the only place that lists them: sources.py reads the constants, the parts and the
// fields of the structs from here. A field stands on a line of its own type, as in `u32 n, m;`;
// a member function is declared on one line that begins with __device__, and defined elsewhere.

#pragma once

using i8 = signed char;
using u8 = unsigned char;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;

inline constexpr u32 kAll = 0xFFFFFFFFu;  // every lane of a warp, every example of a batch

inline constexpr u32 kBatch = 32;    // examples of a batch, a bit of a word each
inline constexpr u32 kKeys = 32;     // keys of draws that a warp keeps; more are computed as needed
inline constexpr u32 kUnroll = 4;    // list entries read at a time; lists are padded to it
inline constexpr u32 kSlice = 4096;  // bit planes that a block matches with one batch in prediction
inline constexpr u32 kOutputBytes = 81;  // of scratch for one output in training, see output_bytes

// What may lie in shared or in global memory, in the order in which shared memory is given out.
enum Part : u32 { kOutputs, kWords, kImages, kOffsets, kHeads, kWeights, kRows, kLists };

// A key of random numbers, see randomness.cuh.
struct Key {
  u32 a, b;
};

// Where a patch lies: its row and column among the patches of an image. A volume's rows of patches
// are counted through all its depths, from the first row of the first one to the last of the last.
struct Patch {
  u32 row, column;
};

// The included literals of a clause: its window, which is the rectangle of patches that its
// position literals leave, and how many other literals there are. The window of a graded clause is
// the whole image: its position literals may be missed as others are. In a volume rows are those
// of each depth of the window, and none where it has no depth; of graded clauses those of all.
struct Head {
  u32 row, rows, column, columns;
  u32 inverse;       // of columns, see divide
  u32 set, negated;  // lengths of the lists: bits that must be 1, and bits that must be 0
  u32 others;        // literals beside the lists: those of position, where they are counted; or,
                     // if kCounted, how many came since the lists were made, less those that went
};

// Which depths the window of a strict clause has in a volume.
struct Depths {
  u32 first, count;
  u32 inverse;  // of the window's rows, see divide
};

// What a machine is: the fields of core/spec.py, which explains them, under the same names. Python
// fills whatever stands here, so that a new option of learning is added there and here.
struct Spec {
  u32 n, m;
  u32 q;
  i32 N;
  u32 max_literals;
  i32 max_weight;
  u32 boost_true_positive, e_scales_type2, sharing, learn_weights;
  i64 T;
  u64 seed;
  u32 tolerance, growth_limit, include_depth;
  u32 negatives;  // none drawn, one evenly, one by its votes
  u32 drop_clauses, drop_literals;
  u32 regression, negations;
  i64 picks;
  __device__ i64 clip_weight(i64 weight) const;
  __device__ i32 top() const;
};

__device__ __forceinline__ i64 Spec::clip_weight(i64 weight) const {
  const i64 limit = max_weight;
  return min(max(weight, -limit), limit);
}

// The largest entry of the memory.
__device__ __forceinline__ i32 Spec::top() const {
  return (include_depth ? static_cast<i32>(include_depth) : N) - 1;
}

// A machine on the device. Pointers lead to global memory.
struct Machine {
  i8* rows;            // [n][row_bytes]: feature 0, its negation, feature 1, ...; or see planes.cuh
  i32* weights;        // [n][m]
  void* lists;         // Entry [n][2][capacity]: offsets of bits that must be 1, and 0
  Head* heads;         // [n]
  u32* misses;         // [n][grid_lines + grid_columns] of graded clauses: position literals that
                       // patches of a row, and of a column, miss
  Depths* depths;      // [n] if kDeep
  u32* missed;         // [n][32] if kCounted: scratch, see counted.cuh
  u32* ahead;          // [n][2][planes]: scratch, see Trainer
  Patch* slots;        // [n]: scratch, see Trainer
  u32* is_chosen;      // [n / 32 + blocks]: scratch of selection
  u8* outputs;         // [blocks][output_bytes]: scratch per output
  u32* fresh;          // [warps][4 * row words]: scratch of max_literals
  const u32* offsets;  // [content features]: words between a patch's first bit and the feature
  const u32* awake;    // of a row, if kSleeps: bytes of literals that do not sleep, all their bits
                       // set; or their bits, a word for each unit of planes.cuh
  double per_full;     // 1 / (2 T)
  Spec spec;
  u32 features, positions;  // of a patch; the first `positions` tell where it lies
  u32 grid_rows, grid_columns, stride_rows, stride_columns;
  u32 grid_depths, grid_lines;  // of patches: depths, and rows of all depths
  u32 inverse_rows;             // of grid_rows, see divide
  u32 depth_step;               // rows of pixels from a depth to the next
  u32 pitch_bits;               // a row of an image takes 1 << pitch_bits words of a batch
  u32 words;                    // of a bit-sliced batch
  u32 row_words;                // of a row of an image
  u32 image_words;              // of an image; 0 where a patch is all of it, which needs no search
  u32 lane_columns, lane_mask;  // patches side by side in 32 bits, and the bits they start at
  u32 row_bytes, capacity;
};

// What one launch of `train` learns from.
struct Task {
  const u32* batches;   // [batch][words]
  const u32* images;    // [batch][32][image_words]
  const u32* packed;    // [count][features in words]: the bits of each example, if planes need them
  const void* targets;  // Target [count][m], in the order of presentation
  const u8* asked;      // [count][m]: which outputs an example asks, if kPartly
  const u64* scales;    // [count][2] or [1][2]
  u64* ballot;          // [2][m], zero at the start
  u64* counts;          // hits, correct; of quantities the third: votes too few or too many
  u64 step;
  u64 pass_step;  // at which the pass began
  u32 count;
  u32 one_scale;
};

// The small things of a block in training, which always lie in shared memory.
struct Shared {
  u32 chosen;       // clauses on the list of those that get feedback
  u64 step_key[2];  // by turns
  Key patch[2];     // by turns: the key of the choice of patches
  Key sleep;        // of clauses that sleep for the pass
};

// What a team of warps notes while it changes the memory of a clause, see planes.cuh.
struct Notes {
  u32 count;      // of literals that came or went, of which the first are noted below
  u32 changes;    // kAdded, kRemoved
  u32 length[2];  // of lists that are being made
  u32 edits[30];  // twice a feature, plus 1 if negated, and kAdded if it was added
};
