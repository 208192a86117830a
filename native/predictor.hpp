// Prediction: a compiled, read-only form of the clauses; threads split the examples.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "clauses.hpp"
#include "examples.hpp"
#include "row_matcher.hpp"

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
  // How votes are summed: in 16 bits, clause by clause (strict ones), in 32 bits, two clauses at a
  // time (graded ones), or in 64 bits, one example at a time.
  enum class Sums { narrow, paired, wide };

  void set_weights(const std::vector<std::vector<int64_t>>& weights);
  void votes_of_rows(const Examples& examples, int64_t* out) const;
  // Add to the votes of a block's examples, which are 0 before; found: [voter][planes][groups].
  void add_narrow(const uint64_t* found, size_t examples, int16_t* sums, int64_t* votes) const;
  void add_paired(const uint64_t* found, size_t examples, int32_t* sums, int64_t* votes) const;
  void add_wide(const uint64_t* found, int64_t* votes) const;

  const Spec& spec_;
  const Kernels& kernels_;
  const BlockLayout& layout_;
  IncludeLists lists_;
  std::vector<std::vector<uint32_t>> members_;  // of every list, the machine's clauses
  size_t voters_ = 0;                           // lists before this one vote
  Buffer<int64_t> wide_;                        // weights, [voter][m]
  Buffer<int16_t> narrow_;                      // the same, of use unless sums are wide
  Sums sums_ = Sums::wide;
  std::vector<size_t> ends_;               // voters at which a sum of 16 bits might overflow
  std::optional<RowMatcher> row_matcher_;  // of flat examples
};

}  // namespace cotm
