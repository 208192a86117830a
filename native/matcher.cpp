#include "matcher.hpp"

#include <algorithm>

#include "bits.hpp"

namespace cotm {

Matcher::Matcher(Clauses& clauses, ClauseRange range, const uint64_t* asleep)
    : clauses_(clauses),
      layout_(clauses.layout),
      range_(range),
      asleep_(asleep),
      literals_(clauses.spec.grid, clauses.kernels),
      block_(layout_, clauses.kernels),
      patches_(clauses.spec.grid.n_patches()),
      misses_(clauses, range) {
  if (misses_.is_used()) {
    grades_.resize(64 * range.words());
    fires_ = Buffer<uint64_t>(range.words());
  } else {
    ahead_ = Buffer<uint64_t>(range.count * layout_.groups() * planes());
    fires_ = Buffer<uint64_t>((fires_plane() + 1) * layout_.examples() * range.words());
  }
}

const uint64_t* Matcher::match(const TrainTask& task, size_t turn) {
  if (turn >= block_end_) {
    match_block(task, turn);
  } else {
    ++position_;
  }
  literals_.read(task.examples, static_cast<size_t>(task.order[turn]));
  return misses_.is_used() ? grade() : at(fires_plane(), position_);
}

// Where misses are counted: what the clauses say of the current example, and which of them fire.
const uint64_t* Matcher::grade() {
  misses_.grade(position_, [this] { return literals_.truth(); }, grades_.data(), fires_.data());
  for (size_t w = 0; clauses_.spec.drop_clauses && w < range_.words(); ++w) {
    fires_.data()[w] &= ~asleep_[w];
    for (const uint32_t k : SetBits{asleep_[w]}) grades_[64 * w + k] = 0;
  }
  return fires_.data();
}

void Matcher::match_block(const TrainTask& task, size_t turn) {
  const size_t groups = layout_.groups(), end = range_.first + range_.count;
  const size_t count = std::min(layout_.examples(), task.count - turn);
  block_.read(task.examples, task.order + turn, count);
  block_end_ = turn + count;
  position_ = 0;
  if (misses_.is_used()) return misses_.count_block(block_);
  const size_t each = groups * planes();
  for (size_t j = 0; j < range_.count; ++j) {
    if (has_bit(asleep_, j)) continue;  // what it says stays 0
    clauses_.lists.prefetch(range_.first + j + kPrefetchAhead, end);
    clauses_.lists.match_and_order(clauses_.kernels, range_.first + j, block_, block_.valid(),
                                   ahead_.data() + j * each);
  }
  for (uint32_t k = 0; k < planes(); ++k) {
    by_example(clauses_.kernels, ahead_.data() + k * groups, range_.count, each, layout_.examples(),
               [&](size_t w, size_t group, const uint64_t* words) {
                 for (size_t e = 0; e < 64; ++e) at(k, 64 * group + e)[w] = words[e];
               });
  }
  if (planes() == 1) return;
  const size_t all = layout_.examples() * range_.words();
  uint64_t* any = at(fires_plane(), 0);
  std::copy_n(at(0, 0), all, any);
  for (uint32_t k = 1; k < planes(); ++k) {
    const uint64_t* plane = at(k, 0);
    for (size_t i = 0; i < all; ++i) any[i] |= plane[i];
  }
}

const uint64_t* Matcher::truth(uint32_t local, uint64_t step_key) {
  if (layout_.is_flat()) return literals_.truth();
  const uint32_t clause = range_.first + local;
  uint32_t grade = 0;
  for (uint32_t k = 0; k < planes(); ++k) {
    grade |= static_cast<uint32_t>(has_bit(plane(k), local)) << k;
  }
  const uint64_t found = clauses_.lists.best_patches(
      clauses_.kernels, clause, block_, static_cast<unsigned>(position_), grade, patches_.data());
  const uint64_t draw = hash32(make_key(step_key, Purpose::patch, 0, 0), clause);
  return literals_.patch_truth(patches_[draw * found >> 32]);
}

void Matcher::move(uint32_t local, const std::vector<uint32_t>& joined,
                   const std::vector<uint32_t>& left) {
  misses_.move(local, joined, left, block_, position_ + 1);
}

void Matcher::list_changed(uint32_t local, ListChange change) {
  const auto [added, removed] = change;
  const size_t groups = layout_.groups(), current = position_ / 64;
  // Only examples after the current one matter. To a strict clause a literal that is added can only
  // take examples away, one that is removed can only bring some: what cannot change is not matched
  // again.
  uint64_t* ahead = ahead_.data() + local * groups * planes();
  uint64_t open[kBlockWords], found[kBlockWords];
  uint64_t any = 0;
  for (size_t g = 0; g < groups; ++g) {
    uint64_t later = g < current ? 0 : block_.valid()[g];
    if (g == current) later &= ~uint64_t{1} << (position_ % 64);
    if (planes() == 1 && added != removed) later &= added ? ahead[g] : ~ahead[g];
    open[g] = later;
    any |= open[g];
  }
  if (!any) return;
  if (planes() > 1) return match_graded(local, open);
  clauses_.lists.match_and_order(clauses_.kernels, range_.first + local, block_, open, found);
  const uint64_t bit = bit_of(local);
  for (size_t g = current; g < groups; ++g) {
    const uint64_t differ = (ahead[g] ^ found[g]) & open[g];
    ahead[g] ^= differ;
    for (const uint32_t k : SetBits{differ}) at(0, 64 * g + k)[local / 64] ^= bit;
  }
}

// Matches a graded clause again with some examples of the block.
void Matcher::match_graded(uint32_t local, const uint64_t* open) {
  const size_t groups = layout_.groups();
  uint64_t* ahead = ahead_.data() + local * groups * planes();
  uint64_t found[kMostPlanes * kBlockWords];
  clauses_.lists.match_and_order(clauses_.kernels, range_.first + local, block_, open, found);
  const uint64_t bit = bit_of(local);
  for (size_t g = position_ / 64; g < groups; ++g) {
    uint64_t before = 0, after = 0;
    const auto flip = [&](uint32_t plane, uint64_t differ) {
      for (const uint32_t e : SetBits{differ}) at(plane, 64 * g + e)[local / 64] ^= bit;
    };
    for (uint32_t k = 0; k < planes(); ++k) {
      uint64_t& word = ahead[k * groups + g];
      before |= word;
      const uint64_t differ = (word ^ found[k * groups + g]) & open[g];
      flip(k, differ);
      word ^= differ;
      after |= word;
    }
    flip(fires_plane(), before ^ after);
  }
}

}  // namespace cotm
