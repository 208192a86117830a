// Warps of 32 lanes, and memory that they fill together.

#pragma once

#include "types.cuh"

__device__ __forceinline__ u32 lane_index() { return threadIdx.x % 32; }
__device__ __forceinline__ u32 warp_index() { return threadIdx.x / 32; }
__device__ __forceinline__ u32 warp_count() { return blockDim.x / 32; }
__device__ __forceinline__ u32 lanes_below() { return (1u << lane_index()) - 1; }

enum Reduction { kOr, kAnd, kMax, kSum };

// The values of all lanes as one, which every lane gets. From compute capability 8.0 on that is
// one instruction.
template <Reduction kind, class T>
__device__ __forceinline__ T warp_reduce(T value) {
#if __CUDA_ARCH__ >= 800
  if constexpr (kind == kOr) return __reduce_or_sync(kAll, value);
  if constexpr (kind == kAnd) return __reduce_and_sync(kAll, value);
  if constexpr (kind == kMax) return __reduce_max_sync(kAll, value);
  if constexpr (kind == kSum) return __reduce_add_sync(kAll, value);
#else
  for (u32 s = 16; s; s /= 2) {
    const T other = __shfl_xor_sync(kAll, value, s);
    if constexpr (kind == kOr) value |= other;
    if constexpr (kind == kAnd) value &= other;
    if constexpr (kind == kMax) value = max(value, other);
    if constexpr (kind == kSum) value += other;
  }
  return value;
#endif
}

__device__ __forceinline__ void add(i32* to, i32 value) { atomicAdd(to, value); }
__device__ __forceinline__ void add(i64* to, i64 value) {
  atomicAdd(reinterpret_cast<u64*>(to), static_cast<u64>(value));
}

// Copies words, by some of the block's threads.
__device__ __forceinline__ void copy_words(void* to, const void* from, u64 bytes, u32 thread,
                                           u32 threads) {
#pragma unroll 1
  for (u64 k = thread; 4 * k < bytes; k += threads) {
    static_cast<u32*>(to)[k] = static_cast<const u32*>(from)[k];
  }
}
