// Prediction: a compiled, read-only form of the machine; threads split the examples.
#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

#include "machine.hpp"
#include "threads.hpp"

namespace cotm {

namespace {

// Calls visit(example, clause position) for every clause that fires, example by example.
template <class Visit>
void visit_flat(const CompiledModel& model, const Kernels& kernels, uint32_t features,
                const Examples& examples, unsigned threads, Visit visit) {
  const size_t clauses = model.clauses.size();
  std::atomic<size_t> next{0};
  run_threads(threads, [&](unsigned) {
    FlatBlock block(features);
    std::vector<uint64_t> any((clauses + 63) / 64);
    Buffer<uint64_t> left(clauses * kBlockWords);
    std::vector<int64_t> order(FlatBlock::kExamples);
    for (size_t first; (first = next.fetch_add(FlatBlock::kExamples)) < examples.size();) {
      std::iota(order.begin(), order.end(), static_cast<int64_t>(first));
      block.read(examples, order.data(), std::min(FlatBlock::kExamples, examples.size() - first));
      model.lists.match_patches_fixed(kernels, block.masks(), any.data(), left.data());
      const uint64_t* found = left.data();
      for (size_t v = 0; v < any.size(); ++v) {
        for (uint64_t fires = any[v]; fires; fires &= fires - 1, found += kBlockWords) {
          const size_t c = 64 * v + static_cast<size_t>(std::countr_zero(fires));
          for (size_t w = 0; w < kBlockWords; ++w) {
            for (uint64_t bits = found[w]; bits; bits &= bits - 1) {
              visit(first + 64 * w + static_cast<size_t>(std::countr_zero(bits)), c);
            }
          }
        }
      }
    }
  });
}

template <class Visit>
void visit_patches(const CompiledModel& model, const Kernels& kernels, const Grid& grid,
                   const Examples& examples, unsigned threads, Visit visit) {
  const size_t clauses = model.clauses.size();
  std::atomic<size_t> next{0};
  run_threads(threads, [&](unsigned) {
    Literals literals(grid, kernels);
    std::vector<uint64_t> any((clauses + 63) / 64);
    Buffer<uint64_t> left(clauses * literals.blocks() * kBlockWords);
    for (size_t e; (e = next.fetch_add(1)) < examples.size();) {
      literals.read(examples, e);
      model.lists.match_patches_fixed(kernels, literals.masks(), any.data(), left.data());
      for (size_t w = 0; w < any.size(); ++w) {
        for (uint64_t bits = any[w]; bits; bits &= bits - 1) {
          visit(e, 64 * w + static_cast<size_t>(std::countr_zero(bits)));
        }
      }
    }
  });
}

template <class Visit>
void visit_firing(const CompiledModel& model, const Kernels& kernels, const Grid& grid,
                  const Examples& examples, unsigned threads, Visit visit) {
  if (examples.size() == 0 || model.clauses.empty()) return;
  if (grid.flat()) {
    const size_t blocks = (examples.size() + FlatBlock::kExamples - 1) / FlatBlock::kExamples;
    threads = static_cast<unsigned>(std::min<size_t>(threads, blocks));
    visit_flat(model, kernels, grid.features(), examples, std::max(1u, threads), visit);
  } else {
    threads = static_cast<unsigned>(std::min<size_t>(threads, examples.size()));
    visit_patches(model, kernels, grid, examples, std::max(1u, threads), visit);
  }
}

}  // namespace

const CompiledModel& Machine::compiled() const {
  static std::mutex mutex;  // predictions may come from several Python threads at once
  const std::lock_guard<std::mutex> lock(mutex);
  if (compiled_) return *compiled_;
  std::vector<uint32_t> clauses;
  for (uint32_t j = 0; j < config_.n; ++j) {  // an empty clause is silent in prediction
    if (!lists_.literals(j).empty()) clauses.push_back(j);
  }
  auto model = std::make_unique<CompiledModel>(
      CompiledModel{clauses, ClauseLists(clauses.size(), 2 * config_.grid.features()), {}});
  model->weights = Buffer<int32_t>(model->clauses.size() * config_.m);
  for (size_t c = 0; c < model->clauses.size(); ++c) {
    model->lists.assign(c, lists_.literals(model->clauses[c]));
    std::copy_n(weights_.data() + size_t{model->clauses[c]} * config_.m, config_.m,
                model->weights.data() + c * config_.m);
  }
  compiled_ = std::move(model);
  return *compiled_;
}

void Machine::votes(const Examples& examples, unsigned threads, int64_t* out) const {
  const CompiledModel& model = compiled();
  const size_t m = config_.m;
  std::fill_n(out, examples.size() * m, 0);
  visit_firing(model, kernels_, config_.grid, examples, threads, [&](size_t e, size_t c) {
    const int32_t* weights = model.weights.data() + c * m;
    int64_t* votes = out + e * m;
    for (size_t i = 0; i < m; ++i) votes[i] += weights[i];
  });
}

void Machine::clause_outputs(const Examples& examples, unsigned threads, bool* out) const {
  const CompiledModel& model = compiled();
  std::fill_n(out, examples.size() * config_.n, false);
  visit_firing(model, kernels_, config_.grid, examples, threads,
               [&](size_t e, size_t c) { out[e * config_.n + model.clauses[c]] = true; });
}

}  // namespace cotm
