// A block of examples, bit-sliced (transposed): where an example is a row with a bit per pixel, a
// block has for every pixel, and for its negation, a word with a bit per example. The AND of the
// words of a clause's literals then says which of the examples it matches, all at once.
//
// Flat examples: 512 at a time, literal l at words [8l, 8l + 8).
// Images: 64 at a time, one word per pixel; the pixels under a literal in patches side by side
// are words side by side, whatever the stride and the channels.
#pragma once

#include <algorithm>

#include "examples.hpp"
#include "kernels/kernels.hpp"
#include "spec.hpp"

namespace cotm {

inline constexpr size_t kMostWords = size_t{1} << 32;  // of a block: places in it have 32 bits
inline constexpr size_t kMostFeatures = kMostWords / (2 * kBlockWords);  // of a flat example

class BlockLayout {
 public:
  explicit BlockLayout(const Grid& grid);

  // Throws std::invalid_argument where places in a block would not fit 32 bits.
  static void require_fit(const Grid& grid);

  bool is_flat() const { return flat_; }
  size_t groups() const { return flat_ ? kBlockWords : 1; }  // words of a bit per example
  size_t examples() const { return 64 * groups(); }
  size_t words() const { return words_; }
  size_t row_step() const { return row_step_; }      // from a patch to the one below it
  size_t depth_step() const { return depth_step_; }  // and to the one behind it
  uint32_t rows() const { return whole_.bottom + 1; }
  uint32_t depths() const { return whole_.back + 1; }
  // Counts of misses: for each row of each depth, and for each column.
  size_t row_misses() const { return size_t{depths()} * rows(); }
  uint32_t columns() const { return columns_; }
  Window whole() const { return whole_; }

  // Literals below this one say where a patch lies. They are not in a block: they make a window.
  uint32_t position_literals() const { return position_literals_; }
  Window window(const uint64_t* include) const;
  uint32_t count_positions(const uint64_t* include) const;
  // How many of those included a patch in each row of each depth, and in each column, misses.
  void count_position_misses(const uint64_t* include, uint32_t* of_row, uint32_t* of_column) const;

  // Which literals of word w of a row say something about pixels.
  uint64_t content(size_t w) const {
    if (position_literals_ <= 64 * w) return ~uint64_t{0};
    const size_t positions = position_literals_ - 64 * w;
    return positions >= 64 ? 0 : ~uint64_t{0} << positions;
  }

  // Where the bits of such a literal are in a block, for the first patch.
  uint32_t offset(uint32_t literal) const { return offsets_[literal - position_literals_]; }

  // Where the pixel behind bit `x` of image row `y` is; its negation is `negated` words on.
  size_t pixel(size_t y, size_t x) const;
  size_t negated() const { return negated_; }

 private:
  // Calls visit(axis, t, negated) for the included literals of position: thermometer bit t, which
  // is set beyond place t of the axis.
  enum class Axis { depths, rows, columns };
  template <class Visit>
  void for_each_position(const uint64_t* include, Visit visit) const;

  bool flat_;
  uint32_t channels_, stride_columns_, columns_;
  size_t pitch_, row_words_, negated_, words_, row_step_, depth_step_;
  uint32_t position_literals_;
  Window whole_;
  std::vector<uint32_t> offsets_;
};

class ExampleBlock {
 public:
  ExampleBlock(const BlockLayout& layout, const Kernels& kernels)
      : layout_(layout), kernels_(kernels), words_(layout.words()) {}

  // Examples order[0], order[1], ...; `count` is at most layout.examples().
  void read(const Examples& examples, const int64_t* order, size_t count);

  const uint64_t* words() const { return words_.data(); }
  size_t count() const { return count_; }
  const uint64_t* valid() const { return valid_; }  // a bit per example there is

 private:
  void read_flat(const Examples& examples, const int64_t* order, size_t count);
  void read_images(const Examples& examples, const int64_t* order, size_t count);
  void read_sparse(const Examples& examples, const int64_t* order, size_t count);

  const BlockLayout& layout_;
  const Kernels& kernels_;
  Buffer<uint64_t> words_;
  size_t count_ = 0;
  uint64_t valid_[kBlockWords] = {};
};

// Transposes which examples each clause fires on, with words `step` apart per clause, to which
// clauses fire on each example: calls visit(clause word, example group, 64 words of clauses, one
// per example).
template <class Visit>
void by_example(const Kernels& kernels, const uint64_t* found, size_t clauses, size_t step,
                size_t examples, Visit visit) {
  uint64_t square[64];
  for (size_t w = 0; 64 * w < clauses; ++w) {
    const size_t here = std::min<size_t>(64, clauses - 64 * w);
    for (size_t group = 0; 64 * group < examples; ++group) {
      for (size_t j = 0; j < here; ++j) square[j] = found[(64 * w + j) * step + group];
      std::fill(square + here, square + 64, 0);
      kernels.transpose64(square);
      visit(w, group, square);
    }
  }
}

}  // namespace cotm
