#include "lists.hpp"

#include <algorithm>
#include <bit>

namespace cotm {

ClauseLists::ClauseLists(size_t clauses, const BlockLayout& layout)
    : layout_(&layout),
      lists_(clauses, ClauseList{nullptr, 0, 0, layout.whole()}),
      storage_(clauses) {}

void ClauseLists::reserve(size_t clause, uint32_t length) {
  ClauseList& list = lists_[clause];
  if (length <= list.capacity) return;
  Buffer<uint32_t> grown(std::max<size_t>(16, std::bit_ceil(length)));
  std::copy_n(list.offsets, list.length, grown.data());
  list.capacity = static_cast<uint32_t>(grown.size());
  list.offsets = grown.data();
  storage_[clause] = std::move(grown);
}

void ClauseLists::edit(size_t clause, const uint64_t* include, const uint64_t* flipped,
                       size_t words) {
  ClauseList& list = lists_[clause];
  bool moved = false;
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t bits = flipped[w]; bits; bits &= bits - 1) {
      const uint32_t literal =
          static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
      if (literal < layout_->position_literals()) {
        moved = true;
        continue;
      }
      const uint32_t offset = layout_->offset(literal);
      if (include[w] & bits & -bits) {
        reserve(clause, list.length + 1);
        list.offsets[list.length++] = offset;
      } else {
        uint32_t* end = list.offsets + list.length--;
        uint32_t* at = std::find(list.offsets, end, offset);
        std::copy(at + 1, end, at);
      }
    }
  }
  if (moved) list.window = layout_->window(include);
}

void ClauseLists::assign(size_t clause, const ClauseList& list) {
  reserve(clause, list.length);
  std::copy_n(list.offsets, list.length, lists_[clause].offsets);
  lists_[clause].length = list.length;
  lists_[clause].window = list.window;
}

bool ClauseLists::empty(size_t clause) const {
  return lists_[clause].length == 0 && lists_[clause].window == layout_->whole();
}

void ClauseLists::match(const Kernels& kernels, size_t clause, const Block& block,
                        const uint64_t* examples, uint64_t* found) const {
  if (layout_->flat()) {
    kernels.match_flat(lists_[clause], block.words(), examples, found);
  } else {
    *found = kernels.match_window(lists_[clause], block.words(), layout_->row_step(), *examples);
  }
}

}  // namespace cotm
