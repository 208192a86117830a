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
  // Takes out or in a literal that says something about pixels.
  void remove(size_t clause, uint32_t literal);
  void add(size_t clause, uint32_t literal);
  // Takes out what a row excludes, of flat examples.
  void remove_excluded(size_t clause, const int8_t* row);

  // Counts literals that joined, less those that left, until the list is made anew.
  void count_unlisted(size_t clause, int32_t more) { unlisted_[clause] += more; }

  // Copies a list of another collection.
  void assign(size_t clause, const IncludeList& list);

  size_t size() const { return lists_.size(); }
  const IncludeList& operator[](size_t clause) const { return lists_[clause]; }
  bool empty(size_t clause) const;  // includes no literal

  // The largest output of a clause.
  uint32_t most(size_t clause) const { return std::min(tolerance_, literals(clause)); }
  // That the clause includes, on its list or not yet.
  uint32_t literals(size_t clause) const {
    const IncludeList& list = lists_[clause];
    return list.length + list.positions + static_cast<uint32_t>(unlisted_[clause]);
  }

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
      cotm::prefetch(list.offsets + i);
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
  void rebuild_flat(size_t clause, const uint64_t* include, size_t words);
  void set_position(size_t clause, const uint64_t* include);
  void reserve(size_t clause, uint32_t length);
  size_t misses_each() const { return layout_->row_misses() + layout_->columns(); }
  // The list for the patches at a depth.
  IncludeList at_depth(size_t clause, uint32_t depth) const;

  bool is_graded() const { return tolerance_ > 1; }

  const BlockLayout* layout_;
  uint32_t tolerance_, planes_;
  std::vector<IncludeList> lists_;
  std::vector<int32_t> unlisted_;          // see count_unlisted
  std::vector<Buffer<uint32_t>> storage_;  // what lists_ points into
  Buffer<uint32_t> misses_;  // [clause][rows of all depths + columns], of graded images
};

}  // namespace cotm
