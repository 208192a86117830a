// Random numbers: the twin of core/randomness.py, which explains them.

#pragma once

#include "types.cuh"

enum Purpose : u64 { kSelect = 0, kDraw = 1, kPatch = 2, kLimit = 3, kNegative = 7, kClauses = 8 };

__device__ __forceinline__ u64 mix64(u64 z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

__device__ __forceinline__ u64 step_key(u64 seed, u64 step) { return mix64(seed + mix64(step)); }

// Not inlined: it is called from several places, and its code is long.
__device__ __noinline__ Key make_key(u64 step_key, Purpose purpose, u64 output, u64 clause) {
  const u64 lane = static_cast<u64>(purpose) << 56 | output << 32 | clause;
  const u64 z = mix64(step_key + lane * 0x9E3779B97F4A7C15u);
  return {static_cast<u32>(z), static_cast<u32>(z >> 32) | 1u};
}

__device__ __forceinline__ u32 hash32(Key key, u32 index) {
  const u32 w = index * 0x9E3779B9u;
  u32 x = w ^ (w >> 16) ^ key.a;
  x *= 2 * x + key.b;
  return x ^ (x >> 16);
}
