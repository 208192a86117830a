#include "machine.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <shared_mutex>
#include <stdexcept>

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
      valid_(first_bits(2 * static_cast<size_t>(config.grid.features()), words_)),
      include_(words_),
      touched_(config.n) {
  const size_t n = config.n, features = config.grid.features();
  std::copy_n(weights, n * config.m, weights_.data());
  for (size_t k = 0; k < words_ * 32; ++k) spread_[k] = spread(static_cast<uint32_t>(k));
  std::fill_n(memory_.data(), memory_.size(), static_cast<int8_t>(-config.depth));
  for (size_t j = 0; j < n; ++j) {
    int8_t* row = memory_.data() + j * words_ * 64;
    for (size_t l = 0; l < 2 * features; ++l) {
      row[l] = memory[j * 2 * features + public_literal(l, features)];
    }
    list_literals(j);
  }
}

Machine::~Machine() = default;

void Machine::state(int8_t* memory, int32_t* weights) const {
  const std::shared_lock<StateLock> lock(state_lock_);
  require_whole();
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

void Machine::mark() {
  const std::unique_lock<StateLock> lock(state_lock_);
  require_whole();
  if (!marked_memory_.size()) {
    Buffer<int8_t> memory(memory_.size());
    marked_weights_ = Buffer<int32_t>(weights_.size());
    marked_memory_ = std::move(memory);
    std::fill_n(touched_.data(), config_.n, uint8_t{1});
  }
  copy_touched(memory_.data(), weights_.data(), marked_memory_.data(), marked_weights_.data());
  std::fill_n(touched_.data(), config_.n, uint8_t{0});
}

void Machine::undo() {
  const std::unique_lock<StateLock> lock(state_lock_);
  if (!marked_memory_.size()) throw std::logic_error("there is no mark to go back to");
  copy_touched(marked_memory_.data(), marked_weights_.data(), memory_.data(), weights_.data());
  for (size_t j = 0; j < config_.n; ++j) {
    if (touched_[j]) list_literals(j);  // no longer than it was, so within its capacity
    touched_[j] = 0;
  }
  compiled_.reset();
  ++changes_;
  whole_ = true;
}

void Machine::renew_locks() {
  new (&state_lock_) StateLock;
  new (&compile_mutex_) std::mutex;
}

void Machine::copy_touched(const int8_t* memory, const int32_t* weights, int8_t* to_memory,
                           int32_t* to_weights) const {
  const size_t entries = words_ * 64, m = config_.m;
  for (size_t j = 0; j < config_.n; ++j) {
    if (!touched_[j]) continue;
    std::memcpy(to_memory + j * entries, memory + j * entries, entries);
    std::memcpy(to_weights + j * m, weights + j * m, m * sizeof(int32_t));
  }
}

void Machine::list_literals(size_t clause) {
  const int8_t* row = memory_.data() + clause * words_ * 64;
  for (size_t w = 0; w < words_; ++w) {
    uint64_t excluded = 0;  // an entry below 0 has its highest bit set
    for (size_t k = 0; k < 64; ++k) {
      excluded |= static_cast<uint64_t>(static_cast<uint8_t>(row[64 * w + k]) >> 7) << k;
    }
    include_[w] = ~excluded;
  }
  lists_.rebuild(clause, include_.data(), words_);
}

void Machine::require_whole() const {
  if (!whole_) {
    throw std::logic_error("training failed midway: undo() goes back to the marked state");
  }
}

}  // namespace cotm
