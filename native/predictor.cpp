#include "predictor.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

#include "bits.hpp"
#include "threads.hpp"

namespace cotm {

namespace {

constexpr size_t kNarrowOutputs = 32;  // with more, adding only where a clause fires is cheaper
constexpr size_t kFewRows = 4;         // examples that are matched one by one
constexpr int64_t kNarrowest = std::numeric_limits<int16_t>::max();
constexpr int64_t kPairedMost = std::numeric_limits<int32_t>::max();
constexpr uint32_t kPairedPlanes = 14;  // that sum_grades takes

// Block after block of the examples: `make_handler` makes, once per thread, a function of
// (block, first example, number of examples).
template <class MakeHandler>
void for_blocks(const BlockLayout& layout, const Kernels& kernels, const Examples& examples,
                unsigned threads, MakeHandler make_handler) {
  if (examples.size() == 0) return;
  const size_t size = layout.examples();
  const size_t blocks = (examples.size() + size - 1) / size;
  std::atomic<size_t> next{0};
  const auto begin = [](unsigned) {};
  const auto work = [&](unsigned, const Barrier& barrier) {
    auto handle = make_handler();
    ExampleBlock block(layout, kernels);
    std::vector<int64_t> order(size);
    for (size_t first; (first = next.fetch_add(size)) < examples.size();) {
      if (barrier.is_broken()) return;
      const size_t count = std::min(size, examples.size() - first);
      std::iota(order.begin(), order.end(), static_cast<int64_t>(first));
      block.read(examples, order.data(), count);
      handle(block, first, count);
    }
  };
  run_threads(static_cast<unsigned>(std::min<size_t>(threads, blocks)), begin, work);
}

// What a clause says, the same for clauses that say the same: its window and sorted literals, and
// what places miss.
using Meaning = std::array<std::vector<uint32_t>, 3>;

Meaning meaning(const IncludeList& list, const BlockLayout& layout) {
  std::vector<uint32_t> offsets(list.offsets, list.offsets + list.length), misses;
  std::sort(offsets.begin(), offsets.end());
  const Window& w = list.window;
  if (list.row_misses) {
    const size_t places = layout.row_misses() + layout.columns();
    misses.assign(list.row_misses, list.row_misses + places);
  }
  return {std::vector{w.front, w.back, w.top, w.bottom, w.left, w.right}, std::move(offsets),
          std::move(misses)};
}

}  // namespace

CompiledModel::CompiledModel(const Clauses& clauses)
    : spec_(clauses.spec),
      kernels_(clauses.kernels),
      layout_(clauses.layout),
      lists_(0, layout_, spec_.most()) {
  const IncludeLists& all = clauses.lists;
  const size_t m = spec_.m;
  std::map<Meaning, std::vector<uint32_t>> distinct;
  for (uint32_t j = 0; j < all.size(); ++j) {
    if (all.empty(j) || all[j].window.empty()) continue;
    distinct[meaning(all[j], layout_)].push_back(j);
  }
  // In order of their first clauses; those without a weight last.
  std::vector<std::pair<std::vector<uint32_t>, std::vector<int64_t>>> voting, silent;
  for (auto& [key, same] : distinct) {
    std::vector<int64_t> sum(m);
    for (const uint32_t j : same) {
      for (size_t i = 0; i < m; ++i) sum[i] += clauses.weights[j * m + i];
    }
    const bool votes = std::any_of(sum.begin(), sum.end(), [](int64_t w) { return w != 0; });
    (votes ? voting : silent).emplace_back(std::move(same), std::move(sum));
  }
  std::sort(voting.begin(), voting.end());
  std::sort(silent.begin(), silent.end());
  voters_ = voting.size();
  lists_ = IncludeLists(voting.size() + silent.size(), layout_, spec_.most());
  for (size_t c = 0; c < lists_.size(); ++c) {
    auto& same = (c < voters_ ? voting[c] : silent[c - voters_]).first;
    lists_.assign(c, all[same.front()]);
    members_.push_back(std::move(same));
  }
  if (layout_.is_flat()) row_matcher_.emplace(lists_, voters_, spec_.grid.n_features());
  std::vector<std::vector<int64_t>> weights;
  for (auto& [same, sum] : voting) weights.push_back(std::move(sum));
  set_weights(weights);
}

void CompiledModel::set_weights(const std::vector<std::vector<int64_t>>& weights) {
  const size_t m = spec_.m;
  wide_ = Buffer<int64_t>(voters_ * m);
  narrow_ = Buffer<int16_t>(voters_ * m);
  bool fits = spec_.m <= kNarrowOutputs;  // all weights fit 16 bits
  std::vector<int64_t> bound(m), all(m);  // of the sums since the last end, and of all
  for (size_t c = 0; c < voters_; ++c) {
    bool goes_on = true;
    for (size_t i = 0; i < m; ++i) {
      const int64_t weight = weights[c][i], size = std::abs(weight);
      wide_[c * m + i] = weight;
      narrow_[c * m + i] = static_cast<int16_t>(weight);
      fits &= size <= kNarrowest;
      goes_on &= bound[i] + size <= kNarrowest;
      all[i] += size;
    }
    if (!goes_on) {
      ends_.push_back(c);
      std::fill(bound.begin(), bound.end(), 0);
    }
    for (size_t i = 0; i < m; ++i) bound[i] += std::abs(weights[c][i]);
  }
  ends_.push_back(voters_);
  if (!fits) return;
  if (lists_.planes() == 1) {
    // With many ends, adding the sums to the votes costs more than 16 bits save.
    if (ends_.size() <= 1 + voters_ / 32) sums_ = Sums::narrow;
  } else if (lists_.planes() <= kPairedPlanes && m > 0 &&
             *std::max_element(all.begin(), all.end()) <= kPairedMost / spec_.most()) {
    sums_ = Sums::paired;
  }
}

void CompiledModel::votes(const Examples& examples, unsigned threads, int64_t* out) const {
  const size_t m = spec_.m, each = layout_.groups() * lists_.planes();
  std::fill_n(out, examples.size() * m, 0);
  if (row_matcher_ && examples.size() <= kFewRows) return votes_of_rows(examples, out);
  for_blocks(layout_, kernels_, examples, threads, [&] {
    const size_t size = m * layout_.examples();
    return [&, found = Buffer<uint64_t>(voters_ * each),
            narrow = Buffer<int16_t>(sums_ == Sums::narrow ? size : 0),
            paired = Buffer<int32_t>(sums_ == Sums::paired ? size : 0)](
               const ExampleBlock& block, size_t first, size_t count) mutable {
      for (size_t c = 0; c < voters_; ++c) {
        lists_.prefetch(c + kPrefetchAhead, voters_);
        lists_.match(kernels_, c, block, block.valid(), found.data() + c * each);
      }
      int64_t* const votes = out + first * m;
      if (sums_ == Sums::narrow) {
        add_narrow(found.data(), count, narrow.data(), votes);
      } else if (sums_ == Sums::paired) {
        add_paired(found.data(), count, paired.data(), votes);
      } else {
        add_wide(found.data(), votes);
      }
    };
  });
}

void CompiledModel::votes_of_rows(const Examples& examples, int64_t* out) const {
  const size_t m = spec_.m;
  Buffer<uint64_t> truth(row_matcher_->words());
  for (size_t e = 0; e < examples.size(); ++e, out += m) {
    row_matcher_->match(kernels_, examples, e, truth.data(), [&](size_t c, int64_t output) {
      const int64_t* weights = wide_.data() + c * m;
      for (size_t i = 0; i < m; ++i) out[i] += output * weights[i];
    });
  }
}

void CompiledModel::add_narrow(const uint64_t* found, size_t examples, int16_t* sums,
                               int64_t* votes) const {
  const size_t m = spec_.m, groups = layout_.groups(), size = layout_.examples();
  size_t c = 0;
  for (const size_t end : ends_) {
    std::fill_n(sums, m * size, int16_t{0});
    kernels_.sum_votes(found + c * groups, groups, examples, end - c, narrow_.data() + c * m, m,
                       sums);
    for (size_t e = 0; e < examples; ++e) {
      for (size_t i = 0; i < m; ++i) votes[e * m + i] += sums[i * size + e];
    }
    c = end;
  }
}

void CompiledModel::add_paired(const uint64_t* found, size_t examples, int32_t* sums,
                               int64_t* votes) const {
  const size_t m = spec_.m, size = layout_.examples();
  std::fill_n(sums, m * size, 0);
  kernels_.sum_grades(found, layout_.groups(), lists_.planes(), examples, voters_, narrow_.data(),
                      m, sums);
  for (size_t e = 0; e < examples; ++e) {
    for (size_t i = 0; i < m; ++i) votes[e * m + i] = sums[i * size + e];
  }
}

void CompiledModel::add_wide(const uint64_t* found, int64_t* votes) const {
  const size_t m = spec_.m, groups = layout_.groups();
  for (size_t c = 0; c < voters_; ++c) {
    for (uint32_t k = 0; k < lists_.planes(); ++k, found += groups) {
      for_each_bit(found, groups, [&](size_t e) {
        for (size_t i = 0; i < m; ++i) votes[e * m + i] += wide_[c * m + i] << k;
      });
    }
  }
}

template <class T>
void CompiledModel::clause_outputs(const Examples& examples, unsigned threads, T* out) const {
  const size_t n = spec_.n, groups = layout_.groups();
  std::fill_n(out, examples.size() * n, T{});
  for_blocks(layout_, kernels_, examples, threads, [&] {
    return [&](const ExampleBlock& block, size_t first, size_t) {
      uint64_t found[kMostPlanes * kBlockWords];
      for (size_t c = 0; c < lists_.size(); ++c) {
        lists_.match(kernels_, c, block, block.valid(), found);
        for (uint32_t k = 0; k < lists_.planes(); ++k) {
          for_each_bit(found + k * groups, groups, [&](size_t e) {
            for (const uint32_t j : members_[c]) {
              T& output = out[(first + e) * n + j];
              output = static_cast<T>(output | T(1 << k));
            }
          });
        }
      }
    };
  });
}

template void CompiledModel::clause_outputs(const Examples&, unsigned, bool*) const;
template void CompiledModel::clause_outputs(const Examples&, unsigned, int32_t*) const;

}  // namespace cotm
