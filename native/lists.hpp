// The included literals of every clause, laid out for matching with a block of examples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "block.hpp"

namespace cotm {

inline constexpr size_t kPrefetchAhead = 8;  // clauses between fetching a list and matching it

struct ListChange {
  bool added, removed;  // some literals
};

class ClauseLists {
 public:
  ClauseLists(size_t clauses, const BlockLayout& layout);

  // Takes out the literals that flipped to excluded, adds those that flipped to included.
  ListChange edit(size_t clause, const uint64_t* include, const uint64_t* flipped, size_t words);
  // Makes the list anew. Allocates only for more literals than it ever had.
  void rebuild(size_t clause, const uint64_t* include, size_t words);
  void remove(size_t clause, uint32_t literal);  // one that is no position

  // A list like another one's, for a copy of a machine's clauses.
  void assign(size_t clause, const ClauseList& list);

  size_t size() const { return lists_.size(); }
  const ClauseList& operator[](size_t clause) const { return lists_[clause]; }
  bool empty(size_t clause) const;  // includes no literal

  // Which examples of a block the clause matches: layout.groups() words. Returns after how many
  // literals none was left, somewhere, or 0.
  uint32_t match(const Kernels& kernels, size_t clause, const Block& block,
                 const uint64_t* examples, uint64_t* found) const;

  // Brings a list near that will be matched soon, if it is before `end`: the next one may be
  // another thread's.
  void prefetch(size_t clause, size_t end) const {
    if (clause >= end) return;
    const ClauseList& list = lists_[clause];
    for (uint32_t i = 0; i < std::min<uint32_t>(list.length, 64); i += 16) {
      __builtin_prefetch(list.offsets + i);
    }
  }

  // As match, and literals that ended the clause move forward.
  void match_and_order(const Kernels& kernels, size_t clause, const Block& block,
                       const uint64_t* examples, uint64_t* found);

 private:
  void add(size_t clause, uint32_t literal);
  void reserve(size_t clause, uint32_t length);

  const BlockLayout* layout_;
  std::vector<ClauseList> lists_;
  std::vector<Buffer<uint32_t>> storage_;  // what lists_ points into
};

}  // namespace cotm
