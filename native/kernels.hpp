// The hot loops, compiled once per instruction set and chosen at run time.
//
// Words used in every file here:
//   n clauses, m outputs, o features, literal 2k is feature k, literal 2k + 1 its negation;
//   a memory row is padded to a multiple of 64 literals, padding stays at the floor -N;
//   a patch block is 512 patches (or, in flat prediction, 512 examples) as 8 words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "randomness.hpp"

namespace cotm {

inline constexpr size_t kBlockWords = 8;          // words of a patch block
inline constexpr size_t kRowAlign = 64;           // literals a memory row is padded to
inline constexpr uint32_t kFreeLiterals = 8;      // literals a clause takes without a test
inline constexpr uint32_t kChunk = 4;             // literals between two tests after that
inline constexpr uint32_t kSteppedLiterals = 16;  // literals the clauses of a group take in step

// A clause's included literals. The order is free: those that end clauses early drift to
// the front. `length` is a multiple of kChunk and at least kSteppedLiterals; what the clause
// does not need of it is the filler, a literal that is always true.
struct IncludeList {
  uint32_t* literals;
  uint32_t length;
  uint32_t capacity;
};

// Feedback to one clause, summed over the outputs that selected it.
struct Feedback {
  const uint64_t* truth;  // literals of the chosen patch; null when the clause did not fire
  const Key* keys;        // one per output that gives Type I
  uint32_t type1;
  uint32_t type2;  // how many outputs give Type II (only to a clause that fired)
  uint32_t q;      // forget iff a 16-bit draw < q
  int32_t depth;   // N
  bool boost;
};

struct Kernels {
  const char* name;

  // Bit j of out: hash32(key, first + j) < threshold. Writes whole words.
  void (*select)(Key key, uint32_t first, uint32_t count, uint64_t threshold, uint64_t* out);

  // Clauses over patches. masks: [block][literal][8]; `any` gets a bit per clause that
  // fires; `left` [firing clause][block][8] gets their matching patches, one after the other,
  // and must have room for all clauses.
  void (*match_patches)(IncludeList* lists, size_t count, const uint64_t* masks,
                        size_t block_stride, size_t blocks, const uint64_t* valid, uint64_t* any,
                        uint64_t* left);

  // The same for lists that are read only (prediction shares them between threads).
  void (*match_patches_fixed)(const IncludeList* lists, size_t count, const uint64_t* masks,
                              size_t block_stride, size_t blocks, const uint64_t* valid,
                              uint64_t* any, uint64_t* left);

  // One clause over one block; `found` may be `valid`.
  void (*match_block)(const IncludeList& list, const uint64_t* masks, const uint64_t* valid,
                      uint64_t* found);

  // votes[i] += weights[j][i] for every clause j whose bit is set.
  void (*add_votes)(const uint64_t* any, size_t count, const int32_t* weights, size_t m,
                    int64_t* votes);

  // Updates a memory row; writes which literals are included now and which of them changed.
  // Returns whether any did.
  bool (*feedback)(const Feedback& feedback, const uint32_t* spread, const uint64_t* valid,
                   size_t words, int8_t* row, uint64_t* include, uint64_t* flipped);

  // mask = (bits >> shift) & valid, negated = ~(bits >> shift) & valid, over blocks.
  void (*shift_masks)(const uint64_t* bits, size_t shift, const uint64_t* valid, size_t blocks,
                      size_t block_stride, uint64_t* mask);
};

const Kernels& kernels_baseline();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();

// The kernels for COTM_ISA, or the best this processor runs. Throws std::invalid_argument
// for a name that is unknown or that the processor lacks.
const Kernels& choose_kernels(const char* name);
const char* best_isa();

}  // namespace cotm
