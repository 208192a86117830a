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

inline constexpr size_t kBlockWords = 8;       // words of a patch block
inline constexpr size_t kRowAlign = 64;        // literals a memory row is padded to
inline constexpr uint32_t kFreeLiterals = 12;  // literals a clause takes without a test
inline constexpr uint32_t kChunk = 4;          // literals between two tests after that
inline constexpr uint32_t kHead = 16;          // literals the clauses of a group take in step

// A clause's literals after the first kHead; see lists.hpp. `length` is a multiple of kChunk.
struct Tail {
  uint32_t* literals;
  uint32_t length;
  uint32_t capacity;
};

// Which patches of an example satisfy each literal: [block][literal][8].
struct PatchMasks {
  const uint64_t* masks;
  size_t blocks, block_stride;
  const uint64_t* valid;  // [block][8]: the patches there are
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

  // Clauses over patches. `any` gets a bit per clause that fires; `left` [firing clause]
  // [block][8] their matching patches, one clause after the other, and must have room for all.
  // The `fixed` ones leave the order of literals as it is: prediction shares it between threads.
  void (*match_narrow)(uint16_t* heads, Tail* tails, size_t count, const PatchMasks& masks,
                       uint64_t* any, uint64_t* left);
  void (*match_wide)(uint32_t* heads, Tail* tails, size_t count, const PatchMasks& masks,
                     uint64_t* any, uint64_t* left);
  void (*match_narrow_fixed)(const uint16_t* heads, const Tail* tails, size_t count,
                             const PatchMasks& masks, uint64_t* any, uint64_t* left);
  void (*match_wide_fixed)(const uint32_t* heads, const Tail* tails, size_t count,
                           const PatchMasks& masks, uint64_t* any, uint64_t* left);

  // One clause over one block.
  void (*match_block_narrow)(const uint16_t* head, const Tail& tail, const uint64_t* masks,
                             const uint64_t* valid, uint64_t* found);
  void (*match_block_wide)(const uint32_t* head, const Tail& tail, const uint64_t* masks,
                           const uint64_t* valid, uint64_t* found);

  // votes[i] += weights[j][i] for every clause j whose bit is set; rows are `stride` apart.
  void (*add_votes)(const uint64_t* any, size_t count, const int32_t* weights, size_t stride,
                    size_t m, int64_t* votes);

  // votes[e][i] += weights[i] for every example e of a block whose bit is set; `stride`, the
  // length of both rows, is a multiple of 4.
  void (*scatter_votes)(const uint64_t* found, const int32_t* weights, size_t stride,
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
