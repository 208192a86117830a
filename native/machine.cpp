#include "machine.hpp"

#include <algorithm>
#include <bit>

namespace cotm {

namespace {

size_t public_literal(size_t literal, size_t features) {
  return literal / 2 + (literal % 2 ? features : 0);
}

}  // namespace

Machine::Machine(const Config& config, const Kernels& kernels, const int8_t* memory,
                 const int32_t* weights)
    : config_(config),
      kernels_(kernels),
      layout_(config.grid),
      words_(literal_words(config.grid.features())),
      memory_(static_cast<size_t>(config.n) * words_ * 64),
      weights_(static_cast<size_t>(config.n) * config.m),
      lists_(config.n, layout_),
      spread_(words_ * 32),
      valid_(first_bits(2 * static_cast<size_t>(config.grid.features()), words_)) {
  const size_t n = config.n, features = config.grid.features();
  std::copy_n(weights, n * config.m, weights_.data());
  for (size_t k = 0; k < words_ * 32; ++k) spread_[k] = spread(static_cast<uint32_t>(k));
  std::fill_n(memory_.data(), memory_.size(), static_cast<int8_t>(-config.depth));
  std::vector<uint64_t> include(words_);
  for (uint32_t j = 0; j < n; ++j) {
    int8_t* row = memory_.data() + j * words_ * 64;
    std::fill(include.begin(), include.end(), 0);
    for (size_t l = 0; l < 2 * features; ++l) {
      row[l] = memory[j * 2 * features + public_literal(l, features)];
      include[l / 64] |= static_cast<uint64_t>(row[l] >= 0) << (l % 64);
    }
    lists_.edit(j, include.data(), include.data(), words_);
  }
}

Machine::~Machine() = default;

void Machine::state(int8_t* memory, int32_t* weights) const {
  const std::shared_lock<std::shared_mutex> lock(state_mutex_);
  const size_t features = config_.grid.features();
  std::copy_n(weights_.data(), weights_.size(), weights);
  for (size_t j = 0; j < config_.n; ++j) {
    const int8_t* row = memory_.data() + j * words_ * 64;
    int8_t* out = memory + j * 2 * features;
    for (size_t k = 0; k < features; ++k) {
      out[k] = row[2 * k];
      out[features + k] = row[2 * k + 1];
    }
  }
}

}  // namespace cotm
