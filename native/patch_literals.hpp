// The literals a clause learns from: those of a flat example, or of one patch of an image.
#pragma once

#include "examples.hpp"
#include "kernels/kernels.hpp"
#include "spec.hpp"

namespace cotm {

// Words of a row of literals as bits; a memory row has 64 bytes per word.
inline size_t literal_words(const Grid& grid) {
  return (grid.n_literals() + kRowAlign - 1) / kRowAlign;
}
Buffer<uint64_t> first_bits(size_t count, size_t words);  // `count` ones, then zeros

// One thread's view of the current example.
class PatchLiterals {
 public:
  PatchLiterals(const Grid& grid, const Kernels& kernels);

  void read(const Examples& examples, size_t index);

  // The literals of the example read last (flat), or of one of its patches; padded with zeros.
  const uint64_t* truth();
  const uint64_t* patch_truth(uint32_t patch);

 private:
  void read_flat();

  Grid grid_;
  const Kernels& kernels_;
  size_t words_;  // of one patch's literals
  const Examples* examples_ = nullptr;
  size_t index_ = 0;
  bool is_read_ = false;  // truth_ is of this flat example: many examples change no clause
  Buffer<uint64_t> truth_, valid_literals_, features_;
  const Examples* sparse_examples_ = nullptr;  // whose features are set in truth_
  size_t sparse_index_ = 0;
};

}  // namespace cotm
