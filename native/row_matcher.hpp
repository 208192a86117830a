// Matching clauses with flat examples one at a time: of a few, a block of 512 would be empty.
#pragma once

#include <cstdint>
#include <vector>

#include "examples.hpp"
#include "include_lists.hpp"

namespace cotm {

class RowMatcher {
 public:
  // The first `clauses` of the lists, of flat examples with so many features.
  RowMatcher(const IncludeLists& lists, size_t clauses, size_t features);

  // Calls visit(clause, what it says) for every clause that fires on an example.
  template <class Visit>
  void match(const Kernels& kernels, const Examples& examples, size_t index, uint64_t* truth,
             Visit visit) const {
    read(kernels, examples, index, truth);
    for (size_t c = 0; c + 1 < ends_.size(); ++c) {
      const uint32_t first = ends_[c];
      const uint32_t misses = kernels.count_row_misses(
          places_.data() + first, masks_.data() + first, ends_[c + 1] - first, truth, most_[c]);
      if (misses < most_[c]) visit(c, most_[c] - misses);
    }
  }

  size_t words() const { return valid_.size(); }  // of an example's literals

 private:
  void read(const Kernels& kernels, const Examples& examples, size_t index, uint64_t* truth) const;

  // Of each clause the words of literals in which it includes some, and which.
  std::vector<uint32_t> ends_, places_, most_;
  std::vector<uint64_t> masks_;
  Buffer<uint64_t> valid_;  // which literals are no padding
};

}  // namespace cotm
