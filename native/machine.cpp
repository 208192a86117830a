#include "machine.hpp"

#include <algorithm>
#include <bit>

namespace cotm {

namespace {

// Up to this many words a packed row is scanned faster than a list is followed.
constexpr size_t kPackedWords = 64;

size_t public_literal(size_t literal, size_t features) {
  return literal / 2 + (literal % 2 ? features : 0);
}

}  // namespace

Machine::Machine(const Config& config, const Kernels& kernels, const int8_t* memory,
                 const int32_t* weights)
    : config_(config),
      kernels_(kernels),
      words_(literal_words(config.grid.features())),
      packed_(config.grid.flat() && words_ <= kPackedWords),
      memory_(static_cast<size_t>(config.n) * words_ * 64),
      weights_(static_cast<size_t>(config.n) * config.m),
      spread_(words_ * 32),
      valid_(first_bits(2 * static_cast<size_t>(config.grid.features()), words_)) {
  const size_t n = config.n, features = config.grid.features();
  std::copy_n(weights, n * config.m, weights_.data());
  for (size_t k = 0; k < words_ * 32; ++k) spread_[k] = spread(static_cast<uint32_t>(k));
  if (packed_) {
    include_ = Buffer<uint64_t>(n * words_);
  } else {
    lists_.resize(n, IncludeList{nullptr, 0, 0});
    entries_.resize(n);
  }
  std::fill_n(memory_.data(), memory_.size(), static_cast<int8_t>(-config.depth));
  std::vector<uint64_t> include(words_);
  for (uint32_t j = 0; j < n; ++j) {
    int8_t* row = memory_.data() + j * words_ * 64;
    std::fill(include.begin(), include.end(), 0);
    for (size_t l = 0; l < 2 * features; ++l) {
      row[l] = memory[j * 2 * features + public_literal(l, features)];
      include[l / 64] |= static_cast<uint64_t>(row[l] >= 0) << (l % 64);
    }
    store_include(j, include.data());
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

void Machine::store_include(uint32_t clause, const uint64_t* include) {
  if (packed_) {
    std::copy_n(include, words_, include_.data() + clause * words_);
    return;
  }
  std::vector<uint64_t> scratch(words_);
  refresh_list(include, words_, 2 * config_.grid.features(), scratch.data(), lists_[clause],
               entries_[clause]);
}

void refresh_list(const uint64_t* include, size_t words, uint32_t filler, uint64_t* scratch,
                  IncludeList& list, Buffer<uint32_t>& entries) {
  uint32_t length = 0;
  for (size_t w = 0; w < words; ++w) {
    scratch[w] = include[w];
    length += static_cast<uint32_t>(std::popcount(include[w]));
  }
  Buffer<uint32_t> grown;
  uint32_t* to = list.literals;
  if (length > list.capacity || !to) {
    list.capacity = std::max(16u, std::bit_ceil(length));
    grown = Buffer<uint32_t>(list.capacity);
    to = grown.data();
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < list.length; ++i) {
    const uint32_t literal = list.literals[i];
    const uint64_t bit = uint64_t{1} << (literal % 64);
    if (scratch[literal / 64] & bit) {
      scratch[literal / 64] ^= bit;
      to[kept++] = literal;
    }
  }
  for (size_t w = 0; w < words; ++w) {
    for (uint64_t bits = scratch[w]; bits; bits &= bits - 1) {
      to[kept++] = static_cast<uint32_t>(64 * w) + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  for (uint32_t i = length; i < kFreeLiterals; ++i) to[i] = filler;
  list.length = length;
  list.literals = to;
  if (grown.size()) entries = std::move(grown);
}

}  // namespace cotm
