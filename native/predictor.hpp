// Prediction: a compiled, read-only form of the clauses; threads split the examples.
#pragma once

#include <cstdint>
#include <vector>

#include "clauses.hpp"
#include "examples.hpp"

namespace cotm {

// What prediction needs of a machine: the distinct clauses that can fire on something, first those
// that vote.
class CompiledModel {
 public:
  explicit CompiledModel(const Clauses& clauses);

  void votes(const Examples& examples, unsigned threads, int64_t* out) const;  // [example][m]
  // [example][n]; T is bool for strict clauses, else int32_t.
  template <class T>
  void clause_outputs(const Examples& examples, unsigned threads, T* out) const;

 private:
  void set_weights(const std::vector<std::vector<int64_t>>& weights);
  // Both add to the votes of a block's examples; found: [voter][planes][groups].
  void add_narrow(const uint64_t* found, size_t examples, int16_t* sums, int64_t* votes) const;
  void add_wide(const uint64_t* found, int64_t* votes) const;

  const Spec& spec_;
  const Kernels& kernels_;
  const BlockLayout& layout_;
  IncludeLists lists_;
  std::vector<std::vector<uint32_t>> members_;  // of every list, the machine's clauses
  size_t voters_ = 0;                           // lists before this one vote
  // Bit k of what a voter says votes with 2^k times the weight: each is a row by itself.
  size_t rows_ = 0;
  Buffer<int64_t> wide_;    // [row][m]
  Buffer<int16_t> narrow_;  // the same, of use if is_narrow_

  // Votes are summed in 16 bits where they fit: `ends_` are the places between rows at which a
  // sum might leave them.
  bool is_narrow_;
  std::vector<size_t> ends_;
};

}  // namespace cotm
