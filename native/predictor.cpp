// Prediction: a compiled, read-only form of the machine; threads split the examples.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <shared_mutex>

#include "machine.hpp"
#include "threads.hpp"

namespace cotm {

namespace {

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
    Block block(layout, kernels);
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

template <class Visit>
void for_bits(const uint64_t* words, size_t count, Visit visit) {
  for (size_t w = 0; w < count; ++w) {
    for (uint64_t bits = words[w]; bits; bits &= bits - 1) {
      visit(64 * w + static_cast<size_t>(std::countr_zero(bits)));
    }
  }
}

// Clauses that say the same: their windows and sorted literals.
using Meaning = std::pair<std::array<uint32_t, 4>, std::vector<uint32_t>>;

Meaning meaning(const ClauseList& list) {
  std::vector<uint32_t> offsets(list.offsets, list.offsets + list.length);
  std::sort(offsets.begin(), offsets.end());
  const Window& w = list.window;
  return {{w.top, w.bottom, w.left, w.right}, std::move(offsets)};
}

constexpr size_t kNarrowOutputs = 32;  // with more, adding only where a clause fires is cheaper
constexpr int64_t kNarrowest = std::numeric_limits<int16_t>::max();

}  // namespace

CompiledModel::CompiledModel(const ClauseLists& all, const BlockLayout& layout,
                             const int32_t* weights, size_t m)
    : lists(0, layout), is_narrow(m <= kNarrowOutputs) {
  std::map<Meaning, std::vector<uint32_t>> distinct;
  for (uint32_t j = 0; j < all.size(); ++j) {
    const Window& window = all[j].window;
    if (all.empty(j) || window.top > window.bottom || window.left > window.right) continue;
    distinct[meaning(all[j])].push_back(j);
  }
  // In order of their first clauses; those without a weight last.
  std::vector<std::pair<std::vector<uint32_t>, std::vector<int64_t>>> voting, silent;
  for (auto& [key, clauses] : distinct) {
    std::vector<int64_t> sum(m);
    for (const uint32_t j : clauses) {
      for (size_t i = 0; i < m; ++i) sum[i] += weights[j * m + i];
    }
    const bool votes = std::any_of(sum.begin(), sum.end(), [](int64_t w) { return w != 0; });
    (votes ? voting : silent).emplace_back(std::move(clauses), std::move(sum));
  }
  std::sort(voting.begin(), voting.end());
  std::sort(silent.begin(), silent.end());
  voters = voting.size();
  lists = ClauseLists(voting.size() + silent.size(), layout);
  for (size_t c = 0; c < lists.size(); ++c) {
    auto& clauses = (c < voters ? voting[c] : silent[c - voters]).first;
    lists.assign(c, all[clauses.front()]);
    members.push_back(std::move(clauses));
  }
  wide = Buffer<int64_t>(voters * m);
  narrow = Buffer<int16_t>(voters * m);
  std::vector<int64_t> bound(m);  // of the sums since the last end
  for (size_t c = 0; c < voters; ++c) {
    const std::vector<int64_t>& weight = voting[c].second;
    bool fits = true;
    for (size_t i = 0; i < m; ++i) {
      wide[c * m + i] = weight[i];
      narrow[c * m + i] = static_cast<int16_t>(weight[i]);
      is_narrow &= std::abs(weight[i]) <= kNarrowest;
      fits &= bound[i] + std::abs(weight[i]) <= kNarrowest;
    }
    if (!fits) {
      ends.push_back(c);
      std::fill(bound.begin(), bound.end(), 0);
    }
    for (size_t i = 0; i < m; ++i) bound[i] += std::abs(weight[i]);
  }
  ends.push_back(voters);
  is_narrow &= ends.size() <= 1 + voters / 32;  // else emptying the sums costs more than it saves
}

const CompiledModel& Machine::compiled() const {
  const std::lock_guard<std::mutex> lock(compile_mutex_);
  if (!compiled_) {
    compiled_ = std::make_unique<const CompiledModel>(lists_, layout_, weights_.data(), config_.m);
  }
  return *compiled_;
}

void Machine::votes(const Examples& examples, unsigned threads, int64_t* out) const {
  const std::shared_lock<StateLock> lock(state_lock_);
  require_whole();
  const CompiledModel& model = compiled();
  const size_t m = config_.m, groups = layout_.groups();
  std::fill_n(out, examples.size() * m, 0);
  const size_t size = layout_.examples();
  for_blocks(layout_, kernels_, examples, threads, [&] {
    return [&, found = Buffer<uint64_t>(model.voters * groups), sums = Buffer<int16_t>(m * size)](
               const Block& block, size_t first, size_t count) mutable {
      for (size_t c = 0; c < model.voters; ++c) {
        model.lists.prefetch(c + kPrefetchAhead, model.voters);
        model.lists.match(kernels_, c, block, block.valid(), found.data() + c * groups);
      }
      int64_t* votes = out + first * m;
      if (!model.is_narrow) {
        for (size_t c = 0; c < model.voters; ++c) {
          for_bits(found.data() + c * groups, groups, [&](size_t e) {
            for (size_t i = 0; i < m; ++i) votes[e * m + i] += model.wide[c * m + i];
          });
        }
        return;
      }
      size_t c = 0;
      for (const size_t end : model.ends) {
        std::fill_n(sums.data(), m * size, int16_t{0});
        kernels_.sum_votes(found.data() + c * groups, groups, count, end - c,
                           model.narrow.data() + c * m, m, sums.data());
        for (size_t e = 0; e < count; ++e) {
          for (size_t i = 0; i < m; ++i) votes[e * m + i] += sums[i * size + e];
        }
        c = end;
      }
    };
  });
}

void Machine::clause_outputs(const Examples& examples, unsigned threads, bool* out) const {
  const std::shared_lock<StateLock> lock(state_lock_);
  require_whole();
  const CompiledModel& model = compiled();
  std::fill_n(out, examples.size() * config_.n, false);
  for_blocks(layout_, kernels_, examples, threads, [&] {
    return [&](const Block& block, size_t first, size_t) {
      uint64_t found[kBlockWords];
      for (size_t c = 0; c < model.lists.size(); ++c) {
        model.lists.match(kernels_, c, block, block.valid(), found);
        for_bits(found, layout_.groups(), [&](size_t e) {
          for (const uint32_t j : model.members[c]) out[(first + e) * config_.n + j] = true;
        });
      }
    };
  });
}

}  // namespace cotm
