#include "row_matcher.hpp"

#include <algorithm>

#include "bits.hpp"

namespace cotm {

RowMatcher::RowMatcher(const IncludeLists& lists, size_t clauses, size_t features)
    : ends_{0}, valid_((2 * features + 63) / 64) {
  for (size_t w = 0; w < valid_.size(); ++w) {
    const size_t here = 2 * features - 64 * w;
    valid_[w] = here >= 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1;
  }
  std::vector<uint32_t> literals;
  for (size_t c = 0; c < clauses; ++c) {
    const IncludeList& list = lists[c];
    literals.assign(list.offsets, list.offsets + list.length);
    for (uint32_t& literal : literals) literal /= kBlockWords;
    std::sort(literals.begin(), literals.end());
    for (const uint32_t literal : literals) {
      if (places_.size() == ends_.back() || places_.back() != literal / 64) {
        places_.push_back(literal / 64);
        masks_.push_back(0);
      }
      masks_.back() |= bit_of(literal);
    }
    ends_.push_back(static_cast<uint32_t>(places_.size()));
    most_.push_back(lists.most(c));
  }
}

void RowMatcher::read(const Kernels& kernels, const Examples& examples, size_t index,
                      uint64_t* truth) const {
  if (!examples.is_sparse()) {
    kernels.interleave(examples.image(index), valid_.data(), words(), truth);
    return;
  }
  for (size_t w = 0; w < words(); ++w) truth[w] = 0xAAAAAAAAAAAAAAAAu & valid_[w];
  for (const uint32_t* k = examples.features_begin(index); k != examples.features_end(index); ++k) {
    truth[*k / 32] ^= uint64_t{3} << (*k % 32 * 2);
  }
}

}  // namespace cotm
