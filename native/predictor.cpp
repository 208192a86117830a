// Prediction: a compiled, read-only form of the machine; threads split the examples.
#include <algorithm>
#include <bit>
#include <mutex>

#include "machine.hpp"
#include "threads.hpp"

namespace cotm {

namespace {

constexpr size_t kFlatBlock = 512;  // flat examples matched at once, one bit each

// Bit c of word r to bit r of word c.
void transpose64(uint64_t* words) {
  uint64_t mask = 0x00000000FFFFFFFFu;
  for (unsigned width = 32; width; width /= 2, mask ^= mask << width) {
    for (unsigned r = 0; r < 64; r = (r + width + 1) & ~width) {
      const uint64_t swap = (words[r] >> width ^ words[r + width]) & mask;
      words[r] ^= swap << width;
      words[r + width] ^= swap;
    }
  }
}

// Masks over a block of flat examples: [literal][8], and the literal that is always true.
class FlatBlock {
 public:
  explicit FlatBlock(uint32_t features)
      : features_(features), masks_((2 * size_t{features} + 1) * kBlockWords) {}

  void read(const Examples& examples, size_t first, size_t count) {
    const Buffer<uint64_t> valid = first_bits(count, kBlockWords);
    if (examples.is_sparse()) {
      read_sparse(examples, first, count);
    } else {
      read_dense(examples, first, count);
    }
    for (size_t k = 0; k < features_; ++k) {
      uint64_t* mask = masks_.data() + 2 * k * kBlockWords;
      for (size_t w = 0; w < kBlockWords; ++w) mask[kBlockWords + w] = ~mask[w] & valid[w];
    }
    std::copy_n(valid.data(), kBlockWords, masks_.data() + 2 * size_t{features_} * kBlockWords);
  }
  const uint64_t* masks() const { return masks_.data(); }
  const uint64_t* valid() const { return masks_.data() + 2 * size_t{features_} * kBlockWords; }

 private:
  void read_dense(const Examples& examples, size_t first, size_t count) {
    uint64_t square[64];
    for (size_t group = 0; group < kBlockWords; ++group) {
      for (size_t column = 0; column < examples.row_words(); ++column) {
        for (size_t r = 0; r < 64; ++r) {
          const size_t e = 64 * group + r;
          square[r] = e < count ? examples.image(first + e)[column] : 0;
        }
        transpose64(square);
        const size_t end = std::min<size_t>(64, features_ - 64 * column);
        for (size_t k = 0; k < end; ++k) {
          masks_[2 * (64 * column + k) * kBlockWords + group] = square[k];
        }
      }
    }
  }
  void read_sparse(const Examples& examples, size_t first, size_t count) {
    for (size_t k = 0; k < features_; ++k) {
      std::fill_n(masks_.data() + 2 * k * kBlockWords, kBlockWords, 0);
    }
    for (size_t e = 0; e < count; ++e) {
      const uint32_t* end = examples.features_end(first + e);
      for (const uint32_t* k = examples.features_begin(first + e); k != end; ++k) {
        masks_[2 * size_t{*k} * kBlockWords + e / 64] |= uint64_t{1} << (e % 64);
      }
    }
  }

  uint32_t features_;
  Buffer<uint64_t> masks_;
};

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
    for (size_t first; (first = next.fetch_add(kFlatBlock)) < examples.size();) {
      block.read(examples, first, std::min(kFlatBlock, examples.size() - first));
      kernels.match_patches_fixed(model.lists.data(), clauses, block.masks(), 0, 1, block.valid(),
                                  any.data(), left.data());
      for (size_t c = 0; c < clauses; ++c) {
        for (size_t w = 0; w < kBlockWords; ++w) {
          for (uint64_t bits = left[c * kBlockWords + w]; bits; bits &= bits - 1) {
            visit(first + 64 * w + static_cast<size_t>(std::countr_zero(bits)), c);
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
      kernels.match_patches_fixed(model.lists.data(), clauses, literals.masks(),
                                  literals.block_stride(), literals.blocks(),
                                  literals.valid_patches(), any.data(), left.data());
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
    const size_t blocks = (examples.size() + kFlatBlock - 1) / kFlatBlock;
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
  auto model = std::make_unique<CompiledModel>();
  const uint32_t filler = 2 * config_.grid.features();
  std::vector<uint32_t> literals;
  std::vector<size_t> starts;
  for (uint32_t j = 0; j < config_.n; ++j) {
    literals.clear();
    if (packed_) {
      for (size_t w = 0; w < words_; ++w) {
        for (uint64_t bits = include_[j * words_ + w]; bits; bits &= bits - 1) {
          literals.push_back(static_cast<uint32_t>(64 * w) +
                             static_cast<uint32_t>(std::countr_zero(bits)));
        }
      }
    } else {
      literals.assign(lists_[j].literals, lists_[j].literals + lists_[j].length);
    }
    if (literals.empty()) continue;  // an empty clause is silent in prediction
    const uint32_t length = static_cast<uint32_t>(literals.size());
    if (length < kFreeLiterals) literals.resize(kFreeLiterals, filler);
    starts.push_back(model->entries.size());
    model->entries.insert(model->entries.end(), literals.begin(), literals.end());
    model->clauses.push_back(j);
    model->lists.push_back({nullptr, length, length});
  }
  model->weights = Buffer<int32_t>(model->clauses.size() * config_.m);
  for (size_t c = 0; c < model->clauses.size(); ++c) {
    model->lists[c].literals = model->entries.data() + starts[c];
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
