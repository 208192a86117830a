// Sets as words of bits, and the order of literals. Not for the kernels, which use nothing from the
// C++ library.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace cotm {

// The set bits of a word, lowest first: for (const uint32_t k : SetBits{word}) ...
struct SetBits {
  uint64_t bits;

  struct Iterator {
    uint64_t rest;
    uint32_t operator*() const { return static_cast<uint32_t>(std::countr_zero(rest)); }
    Iterator& operator++() {
      rest &= rest - 1;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return rest != other.rest; }
  };
  Iterator begin() const { return {bits}; }
  Iterator end() const { return {0}; }
};

// Calls visit(i) for every set bit i of `count` words.
template <class Visit>
void for_each_bit(const uint64_t* words, size_t count, Visit visit) {
  for (size_t w = 0; w < count; ++w) {
    for (const uint32_t k : SetBits{words[w]}) visit(64 * w + k);
  }
}

inline uint64_t bit_of(size_t i) { return uint64_t{1} << (i % 64); }
inline bool has_bit(const uint64_t* words, size_t i) { return words[i / 64] >> (i % 64) & 1; }

// Outside, a clause's literals are its features and then their negations. In here a feature and its
// negation lie side by side, because the two halves of one hash decide about them.
inline size_t outer_literal(size_t feature, bool negated, size_t features) {
  return feature + (negated ? features : 0);
}
constexpr size_t inner_literal(size_t feature, bool negated) { return 2 * feature + negated; }

}  // namespace cotm
