#include "lists.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace cotm {

namespace {

constexpr size_t kManyFlips = 16;  // more than these are not looked up one by one

// Where an offset is in a list. Compares in groups, for the vectoriser.
uint32_t place_of(const ClauseList& list, uint32_t offset) {
  constexpr uint32_t kGroup = 16;
  uint32_t i = 0;
  for (; i + kGroup <= list.length; i += kGroup) {
    uint32_t found = 0;
    for (uint32_t k = 0; k < kGroup; ++k) found |= list.offsets[i + k] == offset;
    if (found) break;
  }
  for (; i < list.length; ++i) {
    if (list.offsets[i] == offset) return i;
  }
  throw std::logic_error("a clause includes a literal that its list does not have");
}

// Moves the literals that ended a clause to the middle of those before them: they will end it
// earlier the next time.
void promote(ClauseList& list, uint32_t ended) {
  const uint32_t from = (ended - 1) / kChunk * kChunk, to = from / 2 / kChunk * kChunk;
  std::swap_ranges(list.offsets + from, list.offsets + ended, list.offsets + to);
}

}  // namespace

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

ListChange ClauseLists::edit(size_t clause, const uint64_t* include, const uint64_t* flipped,
                             size_t words) {
  ListChange change{false, false};
  size_t flips = 0;
  for (size_t w = 0; w < words; ++w) {
    if (!flipped[w]) continue;
    change.added |= (flipped[w] & include[w]) != 0;
    change.removed |= (flipped[w] & ~include[w]) != 0;
    flips += static_cast<size_t>(std::popcount(flipped[w]));
  }
  if (flips > kManyFlips) {
    rebuild(clause, include, words);
    return change;
  }
  bool moved = false;
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t bits = flipped[w]; bits; bits &= bits - 1) {
      const uint32_t literal =
          static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
      if (literal < layout_->position_literals()) {
        moved = true;
      } else if (include[w] & bits & -bits) {
        add(clause, literal);
      } else {
        remove(clause, literal);
      }
    }
  }
  if (moved) lists_[clause].window = layout_->window(include);
  return change;
}

void ClauseLists::rebuild(size_t clause, const uint64_t* include, size_t words) {
  lists_[clause].length = 0;
  lists_[clause].window = layout_->window(include);
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t bits = include[w] & layout_->content(w); bits; bits &= bits - 1) {
      add(clause, static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits)));
    }
  }
}

void ClauseLists::add(size_t clause, uint32_t literal) {
  ClauseList& list = lists_[clause];
  if (list.length == list.capacity) reserve(clause, list.length + 1);
  list.offsets[list.length++] = layout_->offset(literal);
}

void ClauseLists::remove(size_t clause, uint32_t literal) {
  ClauseList& list = lists_[clause];
  const uint32_t place = place_of(list, layout_->offset(literal));
  list.offsets[place] = list.offsets[--list.length];
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

uint32_t ClauseLists::match(const Kernels& kernels, size_t clause, const Block& block,
                            const uint64_t* examples, uint64_t* found) const {
  const ClauseList& list = lists_[clause];
  if (layout_->flat()) return kernels.match_flat(list, block.words(), examples, found);
  uint32_t ended;
  *found = kernels.match_window(list, block.words(), layout_->row_step(), *examples, ended);
  return ended;
}

void ClauseLists::match_and_order(const Kernels& kernels, size_t clause, const Block& block,
                                  const uint64_t* examples, uint64_t* found) {
  const uint32_t ended = match(kernels, clause, block, examples, found);
  if (ended > kChunk) promote(lists_[clause], ended);
}

}  // namespace cotm
