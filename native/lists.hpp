// The included literals of every clause, laid out for matching.
#pragma once

#include <cstdint>
#include <vector>

#include "examples.hpp"

namespace cotm {

// The first kHead literals of all clauses stand side by side, two bytes each where that is
// enough: matching mostly needs no more, and reads them one after the other. The rest of a
// clause is in a tail of its own. The order within a clause is free; the kernels move literals
// that end clauses early to the front. Spare places hold the filler, a literal always true.
class ClauseLists {
 public:
  // Literals are numbers below `filler`.
  ClauseLists(size_t clauses, uint32_t filler);

  // Takes out the literals that flipped to excluded, adds those that flipped to included.
  void edit(size_t clause, const uint64_t* include, const uint64_t* flipped, size_t words);
  void assign(size_t clause, const std::vector<uint32_t>& literals);
  std::vector<uint32_t> literals(size_t clause) const;

  size_t size() const { return tails_.size(); }

  // The kernels of the same names, on clauses [first, first + count).
  void match_patches(const Kernels& kernels, size_t first, size_t count, const PatchMasks& masks,
                     uint64_t* any, uint64_t* left);
  void match_patches_fixed(const Kernels& kernels, const PatchMasks& masks, uint64_t* any,
                           uint64_t* left) const;
  void match_block(const Kernels& kernels, size_t clause, const uint64_t* masks,
                   const uint64_t* valid, uint64_t* found) const;

 private:
  template <class Head>
  void edit_as(Head* head, size_t clause, const uint64_t* include, const uint64_t* flipped,
               size_t words);
  void reserve(size_t clause, uint32_t length);
  bool narrow() const { return narrow_.size() != 0; }

  uint32_t filler_;
  Buffer<uint16_t> narrow_;  // [clause][kHead], or
  Buffer<uint32_t> wide_;    // [clause][kHead] where literals need more bytes
  std::vector<Tail> tails_;
  std::vector<Buffer<uint32_t>> storage_;  // what tails_ points into
};

}  // namespace cotm
