// The included literals of every clause, laid out for matching with a block of examples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "example_block.hpp"

namespace cotm {

inline constexpr size_t kPrefetchAhead = 8;  // clauses between fetching a list and matching it

// Whether some literals were added to a list, or removed.
struct ListChange {
  bool added, removed;
};

class IncludeLists {
 public:
  // `tolerance`: misses that silence a clause.
  IncludeLists(size_t clauses, const BlockLayout& layout, uint32_t tolerance);

  // Takes out the literals that flipped to excluded, adds those that flipped to included.
  ListChange edit(size_t clause, const uint64_t* include, const uint64_t* flipped, size_t words);
  // Makes the list anew. Allocates only for more literals than it ever had.
  void rebuild(size_t clause, const uint64_t* include, size_t words);
  // Takes out a literal that says something about pixels.
  void remove(size_t clause, uint32_t literal);

  // Copies a list of another collection.
  void assign(size_t clause, const IncludeList& list);

  size_t size() const { return lists_.size(); }
  const IncludeList& operator[](size_t clause) const { return lists_[clause]; }
  bool empty(size_t clause) const;  // includes no literal

  // The largest output of a clause.
  uint32_t most(size_t clause) const {
    const IncludeList& list = lists_[clause];
    return std::min(tolerance_, list.length + list.positions);
  }
  uint32_t literals(size_t clause) const;  // that the clause includes

  // What the clause says of the examples of a block: layout.groups() words for each of its bits,
  // which are one for strict clauses. Returns the number of
  // literals after which some vector of examples or patches was empty, or 0.
  uint32_t match(const Kernels& kernels, size_t clause, const ExampleBlock& block,
                 const uint64_t* examples, uint64_t* found) const;

  // Fetches into the cache a list that will be matched soon, if it is before `end`: the next one
  // may be another thread's.
  void prefetch(size_t clause, size_t end) const {
    if (clause >= end) return;
    const IncludeList& list = lists_[clause];
    for (uint32_t i = 0; i < std::min<uint32_t>(list.length, 64); i += 16) {
      __builtin_prefetch(list.offsets + i);
    }
  }

  // The patches of which a clause says the most, `grade`, of an image of a block; returns how many.
  size_t best_patches(const Kernels& kernels, size_t clause, const ExampleBlock& block,
                      unsigned example, uint32_t grade, uint32_t* patches) const;

  // Bits of a clause's output.
  uint32_t planes() const { return planes_; }

  // As match, and moves the literals that ended the clause forward.
  void match_and_order(const Kernels& kernels, size_t clause, const ExampleBlock& block,
                       const uint64_t* examples, uint64_t* found);

 private:
  void add(size_t clause, uint32_t literal);
  void set_position(size_t clause, const uint64_t* include);
  void reserve(size_t clause, uint32_t length);

  bool is_graded() const { return tolerance_ > 1; }

  const BlockLayout* layout_;
  uint32_t tolerance_, planes_;
  std::vector<IncludeList> lists_;
  std::vector<Buffer<uint32_t>> storage_;  // what lists_ points into
  Buffer<uint32_t> misses_;                // [clause][rows + columns], of graded images
};

}  // namespace cotm
