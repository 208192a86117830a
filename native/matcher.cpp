#include "matcher.hpp"

#include <algorithm>

#include "bits.hpp"

namespace cotm {

Matcher::Matcher(Clauses& clauses, ClauseRange range)
    : clauses_(clauses),
      layout_(clauses.layout),
      range_(range),
      literals_(clauses.spec.grid),
      block_(layout_, clauses.kernels),
      ahead_(range.count * layout_.groups()),
      fires_(layout_.examples() * range.words()),
      patches_(clauses.spec.grid.n_patches()) {}

const uint64_t* Matcher::match(const TrainTask& task, size_t turn) {
  if (turn >= block_end_) {
    match_block(task, turn);
  } else {
    ++position_;
  }
  literals_.read(task.examples, static_cast<size_t>(task.order[turn]));
  return fires_.data() + position_ * range_.words();
}

void Matcher::match_block(const TrainTask& task, size_t turn) {
  const size_t groups = layout_.groups(), end = range_.first + range_.count;
  const size_t count = std::min(layout_.examples(), task.count - turn);
  block_.read(task.examples, task.order + turn, count);
  block_end_ = turn + count;
  position_ = 0;
  for (size_t j = 0; j < range_.count; ++j) {
    clauses_.lists.prefetch(range_.first + j + kPrefetchAhead, end);
    clauses_.lists.match_and_order(clauses_.kernels, range_.first + j, block_, block_.valid(),
                                   ahead_.data() + j * groups);
  }
  by_example(clauses_.kernels, ahead_.data(), range_.count, groups, layout_.examples(),
             [&](size_t w, size_t group, const uint64_t* words) {
               for (size_t e = 0; e < 64; ++e) {
                 fires_[(64 * group + e) * range_.words() + w] = words[e];
               }
             });
}

const uint64_t* Matcher::truth(uint32_t local, uint64_t step_key) {
  if (layout_.is_flat()) return literals_.truth();
  const uint32_t clause = range_.first + local;
  const uint64_t found = clauses_.kernels.find_patches(
      clauses_.lists[clause], block_.words(), layout_.row_step(), layout_.columns(),
      static_cast<unsigned>(position_), patches_.data());
  const uint64_t draw = hash32(make_key(step_key, Purpose::patch, 0, 0), clause);
  return literals_.patch_truth(patches_[draw * found >> 32]);
}

void Matcher::list_changed(uint32_t local, ListChange change) {
  const auto [added, removed] = change;
  const size_t groups = layout_.groups(), current = position_ / 64;
  // Only examples after the current one matter. A literal that is added can only take examples
  // away, one that is removed can only bring some: what cannot change is not matched again.
  uint64_t* ahead = ahead_.data() + local * groups;
  uint64_t open[kBlockWords], found[kBlockWords];
  uint64_t any = 0;
  for (size_t g = 0; g < groups; ++g) {
    uint64_t later = g < current ? 0 : block_.valid()[g];
    if (g == current) later &= ~uint64_t{1} << (position_ % 64);
    open[g] = added && removed ? later : added ? later & ahead[g] : later & ~ahead[g];
    any |= open[g];
  }
  if (!any) return;
  clauses_.lists.match_and_order(clauses_.kernels, range_.first + local, block_, open, found);
  const uint64_t bit = bit_of(local);
  for (size_t g = current; g < groups; ++g) {
    const uint64_t differ = (ahead[g] ^ found[g]) & open[g];
    ahead[g] ^= differ;
    for (const uint32_t k : SetBits{differ}) {
      fires_[(64 * g + k) * range_.words() + local / 64] ^= bit;
    }
  }
}

}  // namespace cotm
