#include "include_lists.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "bits.hpp"

namespace cotm {

namespace {

constexpr size_t kManyFlips = 16;  // with more, a list is made anew: looking up each is slower

// Where an offset is in a list. Compares in groups, for the vectoriser.
uint32_t place_of(const IncludeList& list, uint32_t offset) {
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
void promote(IncludeList& list, uint32_t ended) {
  const uint32_t from = (ended - 1) / kChunk * kChunk, to = from / 2 / kChunk * kChunk;
  std::swap_ranges(list.offsets + from, list.offsets + ended, list.offsets + to);
}

// Makes numbers, as planes of their bits, the larger ones of themselves and others.
void take_larger(const uint64_t* others, uint32_t planes, uint64_t* numbers) {
  uint64_t greater = 0, equal = ~uint64_t{0};
  for (uint32_t k = planes; k-- > 0;) {
    const uint64_t differ = others[k] ^ numbers[k];
    greater |= equal & differ & others[k];
    equal &= ~differ;
  }
  for (uint32_t k = 0; k < planes; ++k) {
    numbers[k] = (numbers[k] & ~greater) | (others[k] & greater);
  }
}

}  // namespace

IncludeLists::IncludeLists(size_t clauses, const BlockLayout& layout, uint32_t tolerance)
    : layout_(&layout),
      tolerance_(tolerance),
      planes_(static_cast<uint32_t>(std::bit_width(tolerance))),
      lists_(clauses,
             IncludeList{.offsets = nullptr, .length = 0, .capacity = 0, .window = layout.whole()}),
      unlisted_(clauses),
      storage_(clauses) {
  if (!is_graded() || layout.is_flat()) return;
  misses_ = Buffer<uint32_t>(clauses * misses_each());
  for (size_t j = 0; j < clauses; ++j) {
    lists_[j].row_misses = misses_.data() + j * misses_each();
    lists_[j].column_misses = lists_[j].row_misses + layout.row_misses();
  }
}

void IncludeLists::reserve(size_t clause, uint32_t length) {
  IncludeList& list = lists_[clause];
  if (length <= list.capacity) return;
  Buffer<uint32_t> grown(std::max<size_t>(16, std::bit_ceil(length)));
  std::copy_n(list.offsets, list.length, grown.data());
  list.capacity = static_cast<uint32_t>(grown.size());
  list.offsets = grown.data();
  storage_[clause] = std::move(grown);
}

ListChange IncludeLists::edit(size_t clause, const uint64_t* include, const uint64_t* flipped,
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
    for (const uint32_t k : SetBits{flipped[w]}) {
      const uint32_t literal = static_cast<uint32_t>(64 * w) + k;
      if (literal < layout_->position_literals()) {
        moved = true;
      } else if (include[w] >> k & 1) {
        add(clause, literal);
      } else {
        remove(clause, literal);
      }
    }
  }
  if (moved) set_position(clause, include);
  return change;
}

void IncludeLists::rebuild(size_t clause, const uint64_t* include, size_t words) {
  lists_[clause].length = 0;
  unlisted_[clause] = 0;
  set_position(clause, include);
  if (layout_->is_flat()) return rebuild_flat(clause, include, words);
  for (size_t w = 0; w < words; ++w) {
    for (const uint32_t k : SetBits{include[w] & layout_->content(w)}) {
      add(clause, static_cast<uint32_t>(64 * w) + k);
    }
  }
}

void IncludeLists::rebuild_flat(size_t clause, const uint64_t* include, size_t words) {
  IncludeList& list = lists_[clause];
  uint32_t length = 0;
  for (size_t w = 0; w < words; ++w) {
    if (!include[w]) continue;
    const uint32_t more = length + static_cast<uint32_t>(std::popcount(include[w]));
    if (more > list.capacity) {
      list.length = length;  // what `reserve` keeps
      reserve(clause, more);
    }
    for (const uint32_t k : SetBits{include[w]}) {
      list.offsets[length++] = layout_->offset(static_cast<uint32_t>(64 * w) + k);
    }
  }
  list.length = length;
}

// Which patches the literals of position allow, or in how many of them a patch is missed.
void IncludeLists::set_position(size_t clause, const uint64_t* include) {
  IncludeList& list = lists_[clause];
  list.positions = layout_->count_positions(include);
  if (!is_graded()) {
    list.window = layout_->window(include);
  } else if (!layout_->is_flat()) {
    uint32_t* misses = misses_.data() + clause * misses_each();
    layout_->count_position_misses(include, misses, misses + layout_->row_misses());
  }
}

void IncludeLists::add(size_t clause, uint32_t literal) {
  IncludeList& list = lists_[clause];
  if (list.length == list.capacity) reserve(clause, list.length + 1);
  list.offsets[list.length++] = layout_->offset(literal);
}

void IncludeLists::remove(size_t clause, uint32_t literal) {
  IncludeList& list = lists_[clause];
  const uint32_t place = place_of(list, layout_->offset(literal));
  list.offsets[place] = list.offsets[--list.length];
}

void IncludeLists::remove_excluded(size_t clause, const int8_t* row) {
  IncludeList& list = lists_[clause];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < list.length; ++i) {
    const uint32_t offset = list.offsets[i];
    list.offsets[kept] = offset;
    kept += row[offset / kBlockWords] >= 0;
  }
  list.length = kept;
}

void IncludeLists::assign(size_t clause, const IncludeList& list) {
  reserve(clause, list.length);
  std::copy_n(list.offsets, list.length, lists_[clause].offsets);
  lists_[clause].length = list.length;
  lists_[clause].window = list.window;
  lists_[clause].positions = list.positions;
  if (!list.row_misses) return;
  std::copy_n(list.row_misses, misses_each(), misses_.data() + clause * misses_each());
}

bool IncludeLists::empty(size_t clause) const {
  return literals(clause) == 0 && lists_[clause].window == layout_->whole();
}

uint32_t IncludeLists::match(const Kernels& kernels, size_t clause, const ExampleBlock& block,
                             const uint64_t* examples, uint64_t* found) const {
  const IncludeList& list = lists_[clause];
  if (is_graded()) {
    // In training a clause without literals says 1 of everything.
    const uint32_t most_here = std::max<uint32_t>(most(clause), 1);
    if (layout_->is_flat()) {
      return kernels.grade_flat(list, block.words(), examples, most_here, planes_, found);
    }
    uint64_t here[kMostPlanes];
    for (uint32_t depth = 0; depth < layout_->depths(); ++depth) {
      uint64_t* to = depth == 0 ? found : here;
      kernels.grade_window(at_depth(clause, depth), block.words() + depth * layout_->depth_step(),
                           layout_->row_step(), *examples, most_here, planes_, to);
      if (depth > 0) take_larger(here, planes_, found);
    }
    return 0;
  }
  if (layout_->is_flat()) return kernels.match_flat(list, block.words(), examples, found);
  uint32_t ended = 0;
  *found = 0;
  for (uint32_t depth = list.window.front; depth <= list.window.back; ++depth) {
    *found |= kernels.match_window(list, block.words() + depth * layout_->depth_step(),
                                   layout_->row_step(), *examples & ~*found, ended);
    if (*found == *examples) break;
  }
  return ended;
}

IncludeList IncludeLists::at_depth(size_t clause, uint32_t depth) const {
  IncludeList list = lists_[clause];
  list.row_misses += size_t{depth} * layout_->rows();
  return list;
}

size_t IncludeLists::best_patches(const Kernels& kernels, size_t clause, const ExampleBlock& block,
                                  unsigned example, uint32_t grade, uint32_t* patches) const {
  const Window& window = lists_[clause].window;
  const uint32_t columns = layout_->columns();
  size_t found = 0;
  for (uint32_t depth = window.front; depth <= window.back; ++depth) {
    const uint64_t* words = block.words() + depth * layout_->depth_step();
    uint32_t* here = patches + found;
    size_t more;
    if (is_graded()) {
      more =
          kernels.find_graded(at_depth(clause, depth), words, layout_->row_step(), columns, example,
                              std::max<uint32_t>(most(clause), 1), planes_, grade, here);
    } else {
      more =
          kernels.find_patches(lists_[clause], words, layout_->row_step(), columns, example, here);
    }
    for (size_t i = 0; i < more; ++i) here[i] += depth * layout_->rows() * columns;
    found += more;
  }
  return found;
}

void IncludeLists::match_and_order(const Kernels& kernels, size_t clause, const ExampleBlock& block,
                                   const uint64_t* examples, uint64_t* found) {
  const uint32_t ended = match(kernels, clause, block, examples, found);
  if (ended > kChunk) promote(lists_[clause], ended);
}

}  // namespace cotm
