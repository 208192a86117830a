// Keyed randomness: every random number is a pure function of
// (seed, step, purpose, output, clause, index), never the next of a stream.
// src/cotm/core/randomness.py is the readable twin; tests/hash_vectors.json pins both.
#pragma once

#include <cstdint>

namespace cotm {

// The numbers are part of model-file format 1: a loaded model must train on identically.
enum class Purpose : uint64_t {
  select = 0,
  draw = 1,
  patch = 2,
  limit = 3,
  negative = 7,
  clauses = 8,
  literals = 9
};

struct Key {
  uint32_t a;
  uint32_t b;  // odd, so that x -> x (2x + b) is a bijection
};

// `static`: these are compiled once per instruction set and must not be merged by the linker.
static inline uint64_t mix64(uint64_t z) {  // splitmix64
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static inline uint64_t step_key(uint64_t seed, uint64_t step) { return mix64(seed + mix64(step)); }

static inline Key make_key(uint64_t step_key, Purpose purpose, uint64_t output, uint64_t clause) {
  const uint64_t lane = static_cast<uint64_t>(purpose) << 56 | output << 32 | clause;
  const uint64_t z = mix64(step_key + lane * 0x9E3779B97F4A7C15u);
  return {static_cast<uint32_t>(z), static_cast<uint32_t>(z >> 32) | 1u};
}

inline constexpr uint32_t kGolden = 0x9E3779B9u;  // 2^32 divided by the golden ratio

// Independent of the key, so a kernel reads it from a table. A Word is a uint32_t or a vector.
template <class Word>
static inline Word spread(Word index) {
  const Word w = index * kGolden;
  return w ^ (w >> 16);
}

template <class Word>
static inline Word hash32_spread(Key key, Word spread_index) {
  Word x = spread_index ^ key.a;
  x *= 2 * x + key.b;
  return x ^ (x >> 16);
}

static inline uint32_t hash32(Key key, uint32_t index) { return hash32_spread(key, spread(index)); }

}  // namespace cotm
