// The hot loops, compiled once per instruction set and chosen at run time.
//
// Words used in every file here:
//   n clauses, m outputs, o features, literal 2k is feature k, literal 2k + 1 its negation;
//   a memory row is padded to a multiple of 64 literals, padding stays at the floor -N;
//   a block of examples is bit-sliced (transposed), see example_block.hpp;
//   the edge of a literal is between -1, excluded, and 0, included.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler.hpp"
#include "randomness.hpp"

namespace cotm {

inline constexpr size_t kBlockWords = 8;     // words of a bit per flat example of a block
inline constexpr size_t kRowAlign = 64;      // literals a memory row is padded to
inline constexpr int8_t kMostOwed = 12;      // feedbacks a row can owe; see deferred_forgetting.hpp
inline constexpr uint32_t kWatchLanes = 8;   // watched literals in a vector
inline constexpr uint32_t kMostPlanes = 16;  // bits of a clause's output
inline constexpr uint32_t kChunk = 4;        // literals that are matched between two tests
inline constexpr uint32_t kPickLanes = 16;   // picks that are made at once

// A rectangle of patches, borders included, at the depths from front to back, which kernels know
// nothing of. It is empty where top > bottom, left > right or front > back.
struct Window {
  uint32_t top, bottom, left, right;
  uint32_t front = 0, back = 0;
  bool empty() const { return top > bottom || left > right || front > back; }
  bool operator==(const Window&) const = default;
};

// The included literals of a clause: the patches that those of position allow, and where the bits
// of the others are in a block. A graded clause allows all patches, and counts what those in a row
// (of each depth) and in a column miss; the numbers are null for flat examples.
struct IncludeList {
  uint32_t* offsets;
  uint32_t length, capacity;
  Window window;
  const uint32_t* row_misses = nullptr;
  const uint32_t* column_misses = nullptr;
  uint32_t positions = 0;  // literals of position
};

// A literal and its memory entry, which is near the edge, in one word.
struct Watched {
  static constexpr uint32_t kCrossedEdge = 0xFF;            // for an entry below 0
  static constexpr uint32_t kLiterals = uint32_t{1} << 24;  // literals are below this
  static uint32_t make(uint32_t literal, int32_t entry) {
    return literal << 8 | static_cast<uint8_t>(entry);
  }
  static uint32_t literal(uint32_t word) { return word >> 8; }
  static bool crossed_edge(uint32_t word) { return (word & 0xFF) == kCrossedEdge; }
};

// Feedback to one clause, summed over the outputs that selected it. Before it the row gets the
// feedback it still owes: Type I of one output each, from examples on which it did not fire.
struct Feedback {
  const Key* owed_keys = nullptr;
  uint32_t owed = 0;
  const uint64_t* truth = nullptr;  // literals of the chosen patch; null where it did not fire
  const Key* keys = nullptr;        // one per output that gives Type I
  uint32_t type1 = 0;
  uint32_t type2 = 0;  // how many outputs give Type II (only to a clause that fired)
  uint32_t q;          // a literal is forgotten iff its 16-bit draw < q
  int32_t N;           // memory depth
  int32_t top;         // the largest entry
  bool boost_true_positive;
  bool grows = true;  // the clause memorizes what is true
  bool graded;        // a clause that fires may include literals that are false
};

// Feedback where forgetting is sampled, to a clause that fires: the same to all literals that are
// true, and to all that are false and excluded. It leaves alone what is false and included.
struct PlainFeedback {
  const uint64_t* truth;
  int8_t to_true, to_open;
  int8_t floor, top;  // the smallest and the largest entry
};

// What a memory row says after feedback, a bit per literal.
struct RowBits {
  uint64_t* include;
  uint64_t* flipped;    // by the feedback, not by what was owed
  uint64_t* near_edge;  // included, with an entry below kMostOwed: what is owed could exclude it
};

struct Kernels {
  const char* name;

  // Bit j of out: hash32(key, first + j) < threshold. Writes whole words.
  void (*select)(Key key, uint32_t first, uint32_t count, uint64_t threshold, uint64_t* out);

  // Which of the 512 flat examples of a block satisfy a clause, of those in `examples`.
  // Returns the number of literals after which no example was left, or 0 if some are left.
  uint32_t (*match_flat)(const IncludeList& list, const uint64_t* words, const uint64_t* examples,
                         uint64_t* found);

  // Which of the 64 images of a block have a patch that satisfies a clause, of those in
  // `examples`. `ended` is the number of literals after which no patch of some group of them was
  // left, or 0; which groups are tested is up to the kernel.
  uint64_t (*match_window)(const IncludeList& list, const uint64_t* words, size_t row_step,
                           uint64_t examples, uint32_t& ended);

  // The patches of one image of a block that satisfy a clause, in order; returns how many.
  size_t (*find_patches)(const IncludeList& list, const uint64_t* words, size_t row_step,
                         uint32_t columns, unsigned example, uint32_t* patches);

  // What a graded clause says of the 512 flat examples of a block, of those in `examples`: `most`
  // minus its misses, or 0. Plane k of the numbers is found[8 k], ..., found[8 k + 7]. Returns the
  // number of literals after which no example was left, or 0.
  uint32_t (*grade_flat)(const IncludeList& list, const uint64_t* words, const uint64_t* examples,
                         uint32_t most, uint32_t planes, uint64_t* found);

  // The same of 64 images, the most it says of any patch: plane k is found[k].
  void (*grade_window)(const IncludeList& list, const uint64_t* words, size_t row_step,
                       uint64_t examples, uint32_t most, uint32_t planes, uint64_t* found);

  // The patches of one image of which the clause says `grade`, in order; returns how many.
  size_t (*find_graded)(const IncludeList& list, const uint64_t* words, size_t row_step,
                        uint32_t columns, unsigned example, uint32_t most, uint32_t planes,
                        uint32_t grade, uint32_t* patches);

  // How many literals of a list are false in each of the 512 flat examples of a block, modulo 2^16.
  void (*count_misses)(const IncludeList& list, const uint64_t* words, uint16_t* counts);

  // How many literals of a clause are false in one example, of which `truth` has a bit per literal:
  // the clause includes those of masks[i] in word places[i]. From `limit` on the number may be
  // less.
  uint32_t (*count_row_misses)(const uint32_t* places, const uint64_t* masks, uint32_t count,
                               const uint64_t* truth, uint32_t limit);
  // Adds an amount to the counts of the examples whose bit is set, at least from `first` to before
  // `end` and at most all 512.
  void (*move_counts)(const uint64_t* examples, size_t first, size_t end, int16_t amount,
                      uint16_t* counts);

  // Grades of clauses whose counts of misses lie `step` apart: most[j] minus the count, or 0. Bit j
  // of fires: it is above 0. Both are written up to a multiple of 64 clauses.
  void (*grade_counts)(const uint16_t* counts, size_t step, const uint16_t* most, size_t count,
                       uint16_t* grades, uint64_t* fires);

  // votes[i] += grades[j] * weights[j][i] for every clause j whose bit is set in `fires`. No
  // product is larger than `largest` in magnitude.
  void (*add_grades)(const uint64_t* fires, const uint16_t* grades, size_t count,
                     const int32_t* weights, size_t m, int64_t largest, int64_t* votes);

  // votes[i] += weights[j][i] for every clause j whose bit is set in `fires`. No weight is larger
  // than `largest` in magnitude.
  void (*add_votes)(const uint64_t* fires, size_t count, const int32_t* weights, size_t m,
                    int64_t largest, int64_t* votes);

  // votes[i][e] += weights[j][i] for every example e whose bit is set in found[j], `groups` words
  // per clause j; only the first `examples` count. No sum may leave 16 bits.
  void (*sum_votes)(const uint64_t* found, size_t groups, size_t examples, size_t clauses,
                    const int16_t* weights, size_t m, int16_t* votes);

  // sums[i][e] += weights[j][i] times what clause j says of example e: bit k of that is bit e of
  // found[j][k], with `groups` words. Only the first `examples` count; there is room for all of the
  // groups'. No sum may leave 32 bits; what a clause says has at most 14.
  void (*sum_grades)(const uint64_t* found, size_t groups, uint32_t planes, size_t examples,
                     size_t clauses, const int16_t* weights, size_t m, int32_t* sums);

  // Bit c of word r to bit r of word c, of 64 words.
  void (*transpose64)(uint64_t* words);

  // Updates a memory row; returns whether the feedback changed which literals are included.
  // spread: of every feature's index, see randomness.hpp. valid: the literals that may change,
  // which are no padding and do not sleep.
  bool (*feedback)(const Feedback& feedback, const uint32_t* spread, const uint64_t* valid,
                   size_t words, int8_t* row, const RowBits& bits);

  // The same where forgetting is sampled. Writes bits.include and bits.flipped only of the words in
  // which a literal flipped; returns how many these are, and which in `changed`.
  uint32_t (*plain_feedback)(const PlainFeedback& feedback, const uint64_t* valid, size_t words,
                             int8_t* row, const RowBits& bits, uint32_t* changed);

  // The literals a key picks for forgetting, of its picks first, first + 1, ...; writes whole
  // multiples of kPickLanes. There are at most 2^30 literals.
  void (*pick)(Key key, uint32_t first, uint32_t count, uint32_t features, uint32_t* literals);

  // Bit l of include: the row includes literal l.
  void (*include_bits)(const int8_t* row, size_t words, uint64_t* include);

  // The literals' bits, of those in `valid`, from the features' bits.
  void (*interleave)(const uint64_t* features, const uint64_t* valid, size_t words,
                     uint64_t* truth);

  // Takes 1 from each watched literal that is forgotten; returns whether one crossed the edge.
  // `watch` is read and written up to a multiple of kWatchLanes.
  bool (*forget_watched)(Key key, uint32_t q, uint32_t count, uint32_t* watch);
};

const Kernels& kernels_baseline();
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();
const Kernels& kernels_neon();

// The kernels for COTM_ISA, or the best this processor runs. Throws std::invalid_argument
// for a name that is unknown or that the processor lacks.
const Kernels& choose_kernels(const char* name);
const char* best_isa();

}  // namespace cotm
