// Prediction: a compiled, read-only form of the machine; threads split the examples.
#include <algorithm>
#include <bit>
#include <numeric>

#include "machine.hpp"
#include "threads.hpp"

namespace cotm {

namespace {

// Flat examples, 512 at a time. For every block, begin(first, count), then for every clause
// that fires visit(clause, found) with a bit per example, then end(first, count).
template <class Handler>
void match_flat(const CompiledModel& model, const Kernels& kernels, uint32_t features,
                const Examples& examples, unsigned threads, Handler make_handler) {
  const size_t blocks = (examples.size() + FlatBlock::kExamples - 1) / FlatBlock::kExamples;
  std::atomic<size_t> next{0};
  run_threads(static_cast<unsigned>(std::min<size_t>(threads, blocks)), [&](unsigned) {
    auto handler = make_handler();
    FlatBlock block(features);
    std::vector<uint64_t> any((model.clauses.size() + 63) / 64);
    Buffer<uint64_t> left(model.clauses.size() * kBlockWords);
    std::vector<int64_t> order(FlatBlock::kExamples);
    for (size_t first; (first = next.fetch_add(FlatBlock::kExamples)) < examples.size();) {
      const size_t count = std::min(FlatBlock::kExamples, examples.size() - first);
      std::iota(order.begin(), order.end(), static_cast<int64_t>(first));
      block.read(examples, order.data(), count);
      model.lists.match_patches_fixed(kernels, block.masks(), any.data(), left.data());
      handler.begin(first, count);
      const uint64_t* found = left.data();
      for (size_t w = 0; w < any.size(); ++w) {
        for (uint64_t fires = any[w]; fires; fires &= fires - 1, found += kBlockWords) {
          handler.visit(64 * w + static_cast<size_t>(std::countr_zero(fires)), found);
        }
      }
      handler.end(first, count);
    }
  });
}

// Images, one at a time: visit(example, any) with a bit per clause.
template <class Visit>
void match_images(const CompiledModel& model, const Kernels& kernels, const Grid& grid,
                  const Examples& examples, unsigned threads, Visit visit) {
  std::atomic<size_t> next{0};
  run_threads(static_cast<unsigned>(std::min<size_t>(threads, examples.size())), [&](unsigned) {
    Literals literals(grid, kernels);
    std::vector<uint64_t> any((model.clauses.size() + 63) / 64);
    Buffer<uint64_t> left(model.clauses.size() * literals.blocks() * kBlockWords);
    for (size_t e; (e = next.fetch_add(1)) < examples.size();) {
      literals.read(examples, e);
      model.lists.match_patches_fixed(kernels, literals.masks(), any.data(), left.data());
      visit(e, any.data());
    }
  });
}

// Sums the votes of a block of flat examples beside each other, in rows of whole vectors.
class VoteBlock {
 public:
  VoteBlock(const CompiledModel& model, const Kernels& kernels, size_t m, int64_t* out)
      : model_(model),
        kernels_(kernels),
        m_(m),
        out_(out),
        votes_(FlatBlock::kExamples * model.stride) {}
  void begin(size_t, size_t count) { std::fill_n(votes_.data(), count * model_.stride, 0); }
  void visit(size_t clause, const uint64_t* found) {
    kernels_.scatter_votes(found, model_.weights.data() + clause * model_.stride, model_.stride,
                           votes_.data());
  }
  void end(size_t first, size_t count) {
    for (size_t e = 0; e < count; ++e) {
      std::copy_n(votes_.data() + e * model_.stride, m_, out_ + (first + e) * m_);
    }
  }

 private:
  const CompiledModel& model_;
  const Kernels& kernels_;
  size_t m_;
  int64_t* out_;
  Buffer<int64_t> votes_;
};

// Writes a block's clause outputs straight to their places.
class OutputBlock {
 public:
  OutputBlock(const CompiledModel& model, size_t n, bool* out) : model_(model), n_(n), out_(out) {}
  void begin(size_t first, size_t) { rows_ = out_ + first * n_; }
  void visit(size_t clause, const uint64_t* found) {
    for (size_t w = 0; w < kBlockWords; ++w) {
      for (uint64_t bits = found[w]; bits; bits &= bits - 1) {
        const size_t e = 64 * w + static_cast<size_t>(std::countr_zero(bits));
        rows_[e * n_ + model_.clauses[clause]] = true;
      }
    }
  }
  void end(size_t, size_t) {}

 private:
  const CompiledModel& model_;
  size_t n_;
  bool* out_;
  bool* rows_ = nullptr;
};

}  // namespace

const CompiledModel& Machine::compiled() const {
  const std::lock_guard<std::mutex> lock(compile_mutex_);
  if (compiled_) return *compiled_;
  std::vector<uint32_t> clauses;
  for (uint32_t j = 0; j < config_.n; ++j) {  // an empty clause is silent in prediction
    if (!lists_.literals(j).empty()) clauses.push_back(j);
  }
  auto model = std::make_unique<CompiledModel>(
      CompiledModel{clauses,
                    ClauseLists(clauses.size(), 2 * config_.grid.features()),
                    (config_.m + 3) / 4 * 4,
                    {}});
  model->weights = Buffer<int32_t>(model->clauses.size() * model->stride);
  for (size_t c = 0; c < model->clauses.size(); ++c) {
    model->lists.assign(c, lists_.literals(model->clauses[c]));
    std::copy_n(weights_.data() + size_t{model->clauses[c]} * config_.m, config_.m,
                model->weights.data() + c * model->stride);
  }
  compiled_ = std::move(model);
  return *compiled_;
}

void Machine::votes(const Examples& examples, unsigned threads, int64_t* out) const {
  const std::shared_lock<std::shared_mutex> lock(state_mutex_);
  const CompiledModel& model = compiled();
  const size_t m = config_.m;
  std::fill_n(out, examples.size() * m, 0);
  if (examples.size() == 0 || model.clauses.empty()) return;
  threads = std::max(1u, threads);
  if (config_.grid.flat()) {
    match_flat(model, kernels_, config_.grid.features(), examples, threads,
               [&] { return VoteBlock(model, kernels_, m, out); });
  } else {
    match_images(model, kernels_, config_.grid, examples, threads,
                 [&](size_t e, const uint64_t* any) {
                   kernels_.add_votes(any, model.clauses.size(), model.weights.data(), model.stride,
                                      m, out + e * m);
                 });
  }
}

void Machine::clause_outputs(const Examples& examples, unsigned threads, bool* out) const {
  const std::shared_lock<std::shared_mutex> lock(state_mutex_);
  const CompiledModel& model = compiled();
  std::fill_n(out, examples.size() * config_.n, false);
  if (examples.size() == 0 || model.clauses.empty()) return;
  threads = std::max(1u, threads);
  if (config_.grid.flat()) {
    match_flat(model, kernels_, config_.grid.features(), examples, threads,
               [&] { return OutputBlock(model, config_.n, out); });
  } else {
    match_images(model, kernels_, config_.grid, examples, threads,
                 [&](size_t e, const uint64_t* any) {
                   for (size_t c = 0; c < model.clauses.size(); ++c) {
                     if (any[c / 64] >> (c % 64) & 1) out[e * config_.n + model.clauses[c]] = true;
                   }
                 });
  }
}

}  // namespace cotm
