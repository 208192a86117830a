// What graded clauses of flat examples miss, counted.
//
// A block of examples is counted for every clause at once. A literal that joins or leaves a clause
// later changes the numbers of the examples ahead by one or nothing, which takes a few vector
// instructions: a graded clause is not matched again. Nor is its list of literals needed until the
// next block: it is made then, from the row.
#pragma once

#include <vector>

#include "bits.hpp"
#include "clauses.hpp"

namespace cotm {

// Those of one thread's clauses.
class MissCounts {
 public:
  // Counts nothing, and takes no memory, where clauses are strict or examples have patches.
  MissCounts(Clauses& clauses, ClauseRange range);

  bool is_used() const { return counts_.size() != 0; }

  void count_block(const ExampleBlock& block);
  // Literals joined a clause or left it; only examples from `first` on matter.
  void move(uint32_t local, const std::vector<uint32_t>& joined, const std::vector<uint32_t>& left,
            const ExampleBlock& block, size_t first);
  // What each clause says of an example of the block, and whether it fires; there is room for a
  // multiple of 64 clauses. Its literals are `truth`, asked for only where a clause is so long that
  // its misses are not known from the counts.
  template <class Truth>
  void grade(size_t example, Truth truth, uint16_t* grades, uint64_t* fires) const {
    clauses_.kernels.grade_counts(counts_.data() + example, kStep, most_.data(), range_.count,
                                  grades, fires);
    if (!long_clauses_) return;
    for (uint32_t j = 0; j < range_.count; ++j) {
      if (!is_long(j)) continue;
      grades[j] = grade_long(j, truth());
      fires[j / 64] = grades[j] ? fires[j / 64] | bit_of(j) : fires[j / 64] & ~bit_of(j);
    }
  }

  // Makes the lists that have not followed their clauses.
  void list_all();

 private:
  // Counts are kept modulo 2^16, which says all of a clause with no more literals than this.
  static constexpr uint32_t kLongest = 0xFFFF;
  // From the counts of a clause to those of the next; a line more than they take, because caches
  // keep few lines that are a power of two apart.
  static constexpr size_t kStep = 64 * kBlockWords + kCacheLine / sizeof(uint16_t);

  bool is_long(uint32_t local) const;
  uint16_t grade_long(uint32_t local, const uint64_t* truth) const;
  void set_most(uint32_t local);
  void count(uint32_t local, const ExampleBlock& block);

  Clauses& clauses_;
  ClauseRange range_;
  Buffer<uint16_t> counts_;  // [clause][kStep], of which the first 512 count
  Buffer<uint16_t> most_;    // that a clause can say
  uint32_t long_clauses_ = 0;
  std::vector<uint8_t> unlisted_;  // its list has not followed
  mutable Buffer<uint64_t> include_;
};

}  // namespace cotm
