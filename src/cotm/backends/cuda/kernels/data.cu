// Data: examples and memory, brought into the form in which the other kernels read them.
// Nothing here depends on a machine's options.

#include "warps.cuh"

__device__ __forceinline__ u64 global_warp() {
  return (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
}

// Bytes of 0 and 1 into words of bits, a warp per word.
extern "C" __global__ void pack(const u8* bits, const u64 examples, const u32 width, u32* packed) {
  const u32 row_words = (width + 31) / 32;
  const u64 word = global_warp();
  if (word >= examples * row_words) return;
  const u64 example = word / row_words;
  const u32 column = static_cast<u32>(word % row_words) * 32 + lane_index();
  const bool bit = column < width && bits[example * width + column];
  const u32 all = __ballot_sync(kAll, bit);
  if (lane_index() == 0) packed[word] = all;
}

// Bit-sliced batches of packed examples: a word of 32 examples for every bit, channel by channel,
// rows of pixels apart by the pitch. A warp transposes 32 bits of 32 examples.
extern "C" __global__ void batch_dense(const u32* packed, const i64* order, const u32 count,
                                       const u32 width, const u32 height, const u32 channels,
                                       const u32 pitch_bits, u32* batches) {
  const u32 bits = height * width * channels, packed_words = (bits + 31) / 32;
  const u64 job = global_warp();
  const u64 batch = job / packed_words;
  if (batch * kBatch >= count) return;
  const u32 word = static_cast<u32>(job % packed_words);
  const u64 turn = batch * kBatch + lane_index();
  const u32 mine = turn < count ? packed[static_cast<u64>(order[turn]) * packed_words + word] : 0;
  u32 sliced = 0;
  for (u32 k = 0; k < 32; ++k) {
    const u32 examples = __ballot_sync(kAll, mine >> k & 1);
    if (k == lane_index()) sliced = examples;
  }
  const u32 bit = 32 * word + lane_index();
  if (bit >= bits) return;
  const u32 pixel = bit / channels, channel = bit - pixel * channels;
  const u32 y = pixel / width, x = pixel - y * width;
  batches[(batch * height * channels << pitch_bits) + ((channel * height + y) << pitch_bits) + x] =
      sliced;
}

// The same from rows of column numbers, into batches that are zero. A warp per example.
extern "C" __global__ void batch_sparse(const i64* starts, const i32* columns, const i64* order,
                                        const u32 count, const u32 width, u32* batches) {
  const u64 turn = global_warp();
  if (turn >= count) return;
  const i64 example = order[turn];
  for (i64 k = starts[example] + lane_index(); k < starts[example + 1]; k += 32) {
    atomicOr(batches + turn / kBatch * width + columns[k], 1u << turn % kBatch);
  }
}

// The images of bit-sliced batches as rows of bits. A warp takes 32 pixels of a row.
extern "C" __global__ void batch_images(const u32* batches, const u64 count, const u32 rows,
                                        const u32 width, const u32 row_words, const u32 pitch_bits,
                                        u32* images) {
  const u64 job = global_warp();
  const u64 batch = job / (rows * row_words);
  if (batch >= count) return;
  const u32 place = static_cast<u32>(job % (rows * row_words));
  const u32 row = place / row_words, x = (place - row * row_words) * 32 + lane_index();
  const u32 mine = x < width ? batches[((batch * rows + row) << pitch_bits) + x] : 0;
  for (u32 k = 0; k < kBatch; ++k) {
    const u32 bits = __ballot_sync(kAll, mine >> k & 1);
    if (lane_index() == k) images[(batch * kBatch + k) * rows * row_words + place] = bits;
  }
}

// The memory's rows from the public layout, features and then negations, into that of
// Machine::rows, and back: pairs of a feature and its negation, or the bit planes of planes.cuh.
extern "C" __global__ void load_rows(const i8* memory, const u64 clauses, const u32 features,
                                     const u32 row_bytes, i8* rows) {
  const u64 k = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= clauses * row_bytes) return;
  const u64 clause = k / row_bytes;
  const u32 place = static_cast<u32>(k % row_bytes), feature = place / 2;
  rows[k] = feature < features ? memory[clause * 2 * features + place % 2 * features + feature]
                               : static_cast<i8>(-1);
}

extern "C" __global__ void store_rows(const i8* rows, const u64 clauses, const u32 features,
                                      const u32 row_bytes, i8* memory) {
  const u64 k = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (k >= clauses * 2 * features) return;
  const u64 clause = k / (2 * features);
  const u32 literal = static_cast<u32>(k % (2 * features));
  const bool negated = literal >= features;
  memory[k] = rows[clause * row_bytes + 2 * (negated ? literal - features : literal) + negated];
}

// A thread takes a unit of 32 literals; the planes of a row follow each other.
struct UnitPlace {
  u64 clause;
  u32 unit, units, literals;  // literals: of the unit, those that are no padding
  u64 first;                  // of them, in the public memory
};

__device__ __forceinline__ bool find_unit(u64 clauses, u32 features, UnitPlace& place) {
  const u32 words = (features + 31) / 32;
  const u64 k = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  place.units = 2 * words;
  place.clause = k / place.units;
  place.unit = static_cast<u32>(k % place.units);
  const bool negated = place.unit >= words;
  const u32 feature = 32 * (place.unit - (negated ? words : 0));
  place.literals = min(32u, features - feature);
  place.first = (2 * place.clause + negated) * features + feature;
  return place.clause < clauses;
}

extern "C" __global__ void load_planes(const i8* memory, const u64 clauses, const u32 features,
                                       const u32 row_bytes, u32* rows) {
  UnitPlace place;
  if (!find_unit(clauses, features, place)) return;
  u32 planes[8] = {kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll};  // padding holds -1
#pragma unroll 1
  for (u32 b = 0; b < place.literals; ++b) {
    const u32 entry = static_cast<u8>(memory[place.first + b]);
#pragma unroll
    for (u32 k = 0; k < 8; ++k) planes[k] &= ~(static_cast<u32>(!(entry >> k & 1)) << b);
  }
#pragma unroll
  for (u32 k = 0; k < 8; ++k) {
    rows[place.clause * (row_bytes / 4) + k * place.units + place.unit] = planes[k];
  }
}

extern "C" __global__ void store_planes(const u32* rows, const u64 clauses, const u32 features,
                                        const u32 row_bytes, i8* memory) {
  UnitPlace place;
  if (!find_unit(clauses, features, place)) return;
  u32 planes[8];
#pragma unroll
  for (u32 k = 0; k < 8; ++k) {
    planes[k] = rows[place.clause * (row_bytes / 4) + k * place.units + place.unit];
  }
#pragma unroll 1
  for (u32 b = 0; b < place.literals; ++b) {
    u32 entry = 0;
#pragma unroll
    for (u32 k = 0; k < 8; ++k) entry |= (planes[k] >> b & 1) << k;
    memory[place.first + b] = static_cast<i8>(entry);
  }
}

// The bits of examples by rows of column numbers, into words that are zero. A warp per example.
extern "C" __global__ void pack_sparse(const i64* starts, const i32* columns, const i64* order,
                                       const u32 count, const u32 words, u32* packed) {
  const u64 turn = global_warp();
  if (turn >= count) return;
  const i64 example = order[turn];
  for (i64 k = starts[example] + lane_index(); k < starts[example + 1]; k += 32) {
    atomicOr(packed + turn * words + columns[k] / 32, 1u << columns[k] % 32);
  }
}
