// The clauses of a machine in the layout the kernels want: what training changes and prediction
// reads.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "include_lists.hpp"
#include "spec.hpp"

namespace cotm {

// A range of a machine's clauses; "local" clause numbers count from its first.
struct ClauseRange {
  uint32_t first, count;
  size_t words() const { return (count + 63) / 64; }  // of a bit per clause
};

struct Clauses {
  // memory: [n][2o], the features' literals first and then their negations'.
  Clauses(const Spec& spec, const Kernels& kernels, const int8_t* memory, const int32_t* weights);
  Clauses(const Clauses&) = delete;  // the lists point to the layout

  // The reverse: writes memory and weights as the constructor takes them.
  void copy_to(int8_t* memory, int32_t* weights) const;

  // In the pass that begins at a step some literals sleep: until `wake`, lists leave them out.
  void sleep(uint64_t step);
  void wake();
  // The same, and lists stay as they are.
  void wake_allowed();

  // Makes a clause's list anew, from its row. Allocates only for more literals than it ever had.
  // `include` has room for a bit per literal.
  void list_literals(size_t clause, uint64_t* include);

  // Brings a clause's list up to date with literals that its row includes, or excludes, since then.
  void move_literals(size_t clause, const std::vector<uint32_t>& joined,
                     const std::vector<uint32_t>& left, uint64_t* include);

  // Takes literals that sleep out of those that a row includes.
  void keep_awake(uint64_t* include) const {
    for (size_t w = 0; spec.has_sleepers() && w < words; ++w) include[w] &= awake[w];
  }

  size_t row_entries() const { return words * 64; }
  int8_t* row(size_t clause) { return memory.data() + clause * row_entries(); }
  const int8_t* row(size_t clause) const { return memory.data() + clause * row_entries(); }

  const Spec spec;
  const Kernels& kernels;
  const BlockLayout layout;
  const size_t words;       // of a row of literals as bits; a memory row has 64 bytes per word
  Buffer<int8_t> memory;    // [n][row_entries]
  Buffer<int32_t> weights;  // [n][m]
  IncludeLists lists;
  Buffer<uint32_t> spread;   // hash32's view of each feature index
  Buffer<uint64_t> valid;    // which literals of a row are not padding
  Buffer<uint64_t> awake;    // which of these do not sleep
  Buffer<uint8_t> touched;   // per clause: given feedback since the machine's mark
  Buffer<uint64_t> scratch;  // a bit per literal, for whoever has the clauses to itself
};

}  // namespace cotm
