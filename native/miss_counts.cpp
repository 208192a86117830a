#include "miss_counts.hpp"

#include <algorithm>
#include <bit>

#include "bits.hpp"

namespace cotm {

MissCounts::MissCounts(Clauses& clauses, ClauseRange range) : clauses_(clauses), range_(range) {
  if (!clauses.spec.is_graded() || !clauses.layout.is_flat()) return;
  counts_ = Buffer<uint16_t>(range.count * kStep);
  most_ = Buffer<uint16_t>(64 * range.words());
  unlisted_.resize(range.count);
  include_ = Buffer<uint64_t>(clauses.words);
  for (uint32_t j = 0; j < range.count; ++j) {
    long_clauses_ += is_long(j);
    set_most(j);
  }
}

bool MissCounts::is_long(uint32_t local) const {
  return clauses_.lists.literals(range_.first + local) > kLongest;
}

// In training a clause without literals says 1 of everything.
void MissCounts::set_most(uint32_t local) {
  most_[local] =
      static_cast<uint16_t>(std::max<uint32_t>(clauses_.lists.most(range_.first + local), 1));
}

void MissCounts::count_block(const ExampleBlock& block) {
  list_all();
  for (uint32_t j = 0; j < range_.count; ++j) {
    clauses_.lists.prefetch(range_.first + j + kPrefetchAhead, range_.first + range_.count);
    count(j, block);
  }
}

void MissCounts::count(uint32_t local, const ExampleBlock& block) {
  clauses_.kernels.count_misses(clauses_.lists[range_.first + local], block.words(),
                                counts_.data() + local * kStep);
}

void MissCounts::move(uint32_t local, const std::vector<uint32_t>& joined,
                      const std::vector<uint32_t>& left, const ExampleBlock& block, size_t first) {
  const uint32_t clause = range_.first + local;
  long_clauses_ -= is_long(local);
  clauses_.lists.count_unlisted(
      clause, static_cast<int32_t>(joined.size()) - static_cast<int32_t>(left.size()));
  long_clauses_ += is_long(local);
  set_most(local);
  unlisted_[local] = 1;
  if (first >= block.count()) return;
  uint16_t* counts = counts_.data() + local * kStep;
  for (const auto* literals : {&joined, &left}) {
    const int16_t amount = literals == &joined ? 1 : -1;
    for (size_t i = 0; i < literals->size(); ++i) {
      constexpr size_t kAhead = 8;
      if (i + kAhead < literals->size()) {
        prefetch(block.words() + ((*literals)[i + kAhead] ^ 1) * kBlockWords);
      }
      // An example misses a literal where the negation is true.
      clauses_.kernels.move_counts(block.words() + ((*literals)[i] ^ 1) * kBlockWords, first,
                                   block.count(), amount, counts);
    }
  }
}

void MissCounts::list_all() {
  for (uint32_t j = 0; j < unlisted_.size(); ++j) {
    if (!unlisted_[j]) continue;
    clauses_.list_literals(range_.first + j, include_.data());
    unlisted_[j] = 0;
  }
}

uint16_t MissCounts::grade_long(uint32_t local, const uint64_t* truth) const {
  clauses_.kernels.include_bits(clauses_.row(range_.first + local), clauses_.words,
                                include_.data());
  clauses_.keep_awake(include_.data());
  size_t misses = 0;
  for (size_t w = 0; w < clauses_.words; ++w) {
    misses += static_cast<size_t>(std::popcount(include_[w] & ~truth[w]));
  }
  return misses < most_[local] ? static_cast<uint16_t>(most_[local] - misses) : 0;
}

}  // namespace cotm
