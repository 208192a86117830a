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
      words_(literal_words(config.grid.features())),
      memory_(static_cast<size_t>(config.n) * words_ * 64),
      weights_(static_cast<size_t>(config.n) * config.m),
      spread_(words_ * 32),
      valid_(first_bits(2 * static_cast<size_t>(config.grid.features()), words_)) {
  const size_t n = config.n, features = config.grid.features();
  std::copy_n(weights, n * config.m, weights_.data());
  for (size_t k = 0; k < words_ * 32; ++k) spread_[k] = spread(static_cast<uint32_t>(k));
  lists_.resize(n, IncludeList{nullptr, 0, 0});
  entries_.resize(n);
  std::fill_n(memory_.data(), memory_.size(), static_cast<int8_t>(-config.depth));
  std::vector<uint64_t> include(words_);
  for (uint32_t j = 0; j < n; ++j) {
    int8_t* row = memory_.data() + j * words_ * 64;
    std::fill(include.begin(), include.end(), 0);
    for (size_t l = 0; l < 2 * features; ++l) {
      row[l] = memory[j * 2 * features + public_literal(l, features)];
      include[l / 64] |= static_cast<uint64_t>(row[l] >= 0) << (l % 64);
    }
    edit_list(j, include.data(), include.data());
  }
}

Machine::~Machine() = default;

void Machine::state(int8_t* memory, int32_t* weights) const {
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

// Literals that stay keep their order.
void Machine::edit_list(uint32_t clause, const uint64_t* include, const uint64_t* flipped) {
  IncludeList& list = lists_[clause];
  const uint32_t filler = 2 * config_.grid.features();
  uint32_t kept = 0;
  for (uint32_t i = 0; i < list.length; ++i) {
    const uint32_t literal = list.literals[i];
    if (literal != filler && !(flipped[literal / 64] >> (literal % 64) & 1)) {
      list.literals[kept++] = literal;
    }
  }
  uint32_t added = 0;
  for (size_t w = 0; w < words_; ++w) {
    added += static_cast<uint32_t>(std::popcount(flipped[w] & include[w]));
  }
  const uint32_t length = std::max(kSteppedLiterals, (kept + added + kChunk - 1) / kChunk * kChunk);
  if (length > list.capacity) {
    list.capacity = std::bit_ceil(length);
    Buffer<uint32_t> grown(list.capacity);
    std::copy_n(list.literals, kept, grown.data());
    list.literals = grown.data();
    entries_[clause] = std::move(grown);
  }
  for (size_t w = 0; w < words_; ++w) {
    for (uint64_t bits = flipped[w] & include[w]; bits; bits &= bits - 1) {
      list.literals[kept++] =
          static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  std::fill(list.literals + kept, list.literals + length, filler);
  list.length = length;
}

}  // namespace cotm
