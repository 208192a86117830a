// What compilers offer beyond C++: GNU's and Clang's ways where there are any, else plain C++,
// which COTM_STANDARD asks for too, so that tests run it. The kernels read this file, so it uses
// nothing from the C++ library.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__GNUC__) || defined(__clang__)
#ifndef COTM_STANDARD
#define COTM_GNU
#endif
#define COTM_NOINLINE __attribute__((noinline))
#elif defined(_MSC_VER)
#define COTM_NOINLINE __declspec(noinline)
#else
#define COTM_NOINLINE
#endif

#if defined(_MSC_VER) && !defined(COTM_GNU)
#include <intrin.h>
#endif

namespace cotm {

// Asks for the cache line at an address, which will soon be read.
static inline void prefetch(const void* at) {
#ifdef COTM_GNU
  __builtin_prefetch(at);
#elif defined(_M_X64)
  _mm_prefetch(static_cast<const char*>(at), _MM_HINT_T0);
#else
  static_cast<void>(at);
#endif
}

// The same of one that will soon be written.
static inline void prefetch_to_write(const void* at) {
#ifdef COTM_GNU
  __builtin_prefetch(at, 1);
#else
  prefetch(at);
#endif
}

// The number of the lowest bit of a word that is not 0.
static inline uint32_t lowest_bit(uint64_t word) {
#ifdef COTM_GNU
  return static_cast<uint32_t>(__builtin_ctzll(word));
#elif defined(_M_X64) || defined(_M_ARM64)
  unsigned long place;
  _BitScanForward64(&place, word);
  return place;
#else
  uint32_t place = 0;
  for (; !(word & 1); word >>= 1) ++place;
  return place;
#endif
}

// How many bits of a word are set.
static inline uint32_t count_bits(uint64_t word) {
#ifdef COTM_GNU
  return static_cast<uint32_t>(__builtin_popcountll(word));
#else
  word -= word >> 1 & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<uint32_t>(word * 0x0101010101010101u >> 56);
#endif
}

// Multiplies; returns whether the product is too large, and then says nothing about it.
static inline bool multiply_overflows(uint64_t a, uint64_t b, uint64_t& product) {
#ifdef COTM_GNU
  return __builtin_mul_overflow(a, b, &product);
#else
  product = a * b;
  return a && b > UINT64_MAX / a;
#endif
}

// Eight numbers at a time. A comparison gives all bits of a number where it holds, else none.
#if defined(COTM_GNU) && !defined(__aarch64__)
typedef uint16_t EightU16 __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint32_t EightU32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t EightI32 __attribute__((vector_size(32), aligned(4), may_alias));

// Each number of one where its flags are not 0, else of the other.
static inline EightU32 choose(EightU32 flags, EightU32 where, EightU32 elsewhere) {
  return flags ? where : elsewhere;
}
#else
template <class T>
struct Eight {
#ifdef COTM_GNU  // as wide as registers: GCC takes wider ones apart
  typedef T Part __attribute__((vector_size(16), aligned(alignof(T)), may_alias));
#else
  typedef T Part;
#endif
  Part parts[8 * sizeof(T) / sizeof(Part)];

  T operator[](size_t i) const { return reinterpret_cast<const T*>(parts)[i]; }
  static Eight all(T value) {
    Eight result;
    for (Part& part : result.parts) part = static_cast<Part>(Part{} + value);
    return result;
  }

#define COTM_OPERATOR(op, value)                                        \
  friend Eight operator op(const Eight& a, const Eight& b) {            \
    Eight result;                                                       \
    for (size_t i = 0; i < sizeof result.parts / sizeof(Part); ++i) {   \
      const Part x = a.parts[i], y = b.parts[i];                        \
      result.parts[i] = value;                                          \
    }                                                                   \
    return result;                                                      \
  }                                                                     \
  friend Eight operator op(const Eight& a, T b) { return a op all(b); } \
  friend Eight operator op(T a, const Eight& b) { return all(a) op b; }
  COTM_OPERATOR(+, static_cast<Part>(x + y))
  COTM_OPERATOR(*, static_cast<Part>(x* y))
  COTM_OPERATOR(&, static_cast<Part>(x& y))
  COTM_OPERATOR(|, static_cast<Part>(x | y))
  COTM_OPERATOR(^, static_cast<Part>(x ^ y))
  COTM_OPERATOR(>>, static_cast<Part>(x >> y))
  COTM_OPERATOR(<, flags(x < y))
  COTM_OPERATOR(==, flags(x == y))
#undef COTM_OPERATOR

  Eight operator~() const { return *this ^ static_cast<T>(~T{0}); }
  Eight& operator+=(const Eight& other) { return *this = *this + other; }
  Eight& operator*=(const Eight& other) { return *this = *this * other; }
  Eight& operator|=(const Eight& other) { return *this = *this | other; }

  friend Eight choose(const Eight& flags, const Eight& where, const Eight& elsewhere) {
    Eight result;
    for (size_t i = 0; i < sizeof result.parts / sizeof(Part); ++i) {
      result.parts[i] = flags.parts[i] ? where.parts[i] : elsewhere.parts[i];
    }
    return result;
  }

 private:
  static Part flags(bool holds) { return static_cast<Part>(holds ? ~Part{} : Part{}); }
  template <class Vector>
  static Part flags(Vector holds) {
    return reinterpret_cast<Part>(holds);
  }
};

using EightU16 = Eight<uint16_t>;
using EightU32 = Eight<uint32_t>;
using EightI32 = Eight<int32_t>;
#endif

}  // namespace cotm
