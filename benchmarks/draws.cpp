// Throughput of candidate hashes for the 16-bit draws per literal; see draws.py.
#include <immintrin.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

#ifdef __AVX512BW__
using Vector = __m512i;
constexpr int kLanes = 16;
Vector all(uint32_t v) { return _mm512_set1_epi32(static_cast<int>(v)); }
Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
Vector exor(Vector a, Vector b) { return _mm512_xor_si512(a, b); }
Vector mul(Vector a, Vector b) { return _mm512_mullo_epi32(a, b); }
template <int n>
Vector down(Vector a) {
  return _mm512_srli_epi32(a, n);
}
template <int n>
Vector up(Vector a) {
  return _mm512_slli_epi32(a, n);
}
Vector load(const uint32_t* p) { return _mm512_loadu_si512(p); }
uint32_t below(Vector h, uint32_t q) {
  return _mm512_cmplt_epu16_mask(h, _mm512_set1_epi16(static_cast<short>(q)));
}
#else
using Vector = __m256i;
constexpr int kLanes = 8;
Vector all(uint32_t v) { return _mm256_set1_epi32(static_cast<int>(v)); }
Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
Vector exor(Vector a, Vector b) { return _mm256_xor_si256(a, b); }
Vector mul(Vector a, Vector b) { return _mm256_mullo_epi32(a, b); }
template <int n>
Vector down(Vector a) {
  return _mm256_srli_epi32(a, n);
}
template <int n>
Vector up(Vector a) {
  return _mm256_slli_epi32(a, n);
}
Vector load(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
uint32_t below(Vector h, uint32_t q) {
  const Vector last = _mm256_set1_epi16(static_cast<short>(q - 1));
  return static_cast<uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_min_epu16(h, last), h)));
}
#endif

constexpr uint32_t kGolden = 0x9E3779B9u;
alignas(64) uint32_t weyl[512], spread[512];

struct Chosen {
  static Vector hash(int at, Vector a, Vector b) {
    Vector x = exor(load(spread + at), a);
    x = mul(x, add(add(x, x), b));
    return exor(x, down<16>(x));
  }
};
struct Keyed {
  static Vector hash(int at, Vector a, Vector b) {
    Vector x = add(load(weyl + at), a);
    x = exor(x, down<16>(x));
    x = mul(x, b);
    return exor(x, down<16>(x));
  }
};
struct Quadratic {
  static Vector hash(int at, Vector a, Vector b) {
    Vector x = add(load(weyl + at), a);
    x = exor(x, down<16>(x));
    x = mul(x, add(add(x, x), b));
    return exor(x, down<16>(x));
  }
};
struct Murmur {
  static Vector hash(int at, Vector a, Vector) {
    Vector x = add(load(weyl + at), a);
    x = mul(exor(x, down<16>(x)), all(0x85EBCA6Bu));
    x = mul(exor(x, down<13>(x)), all(0xC2B2AE35u));
    return exor(x, down<16>(x));
  }
};
struct TwoProducts {
  static Vector hash(int at, Vector a, Vector b) {
    Vector x = add(load(weyl + at), a);
    x = mul(exor(x, down<16>(x)), all(0x7FEB352Du));
    x = mul(exor(x, down<15>(x)), b);
    return exor(x, down<16>(x));
  }
};
struct AddXorShift {
  static Vector hash(int at, Vector a, Vector b) {
    Vector x = add(load(weyl + at), a);
    for (int round = 0; round < 4; ++round) {
      x = add(x, b);
      x = exor(x, exor(down<7>(x), up<9>(x)));
    }
    return x;
  }
};
struct Nothing {
  static Vector hash(int at, Vector a, Vector) { return add(load(weyl + at), a); }
};

template <class Hash>
void measure(const char* name) {
  constexpr int literals = 272, rows = 400000;
  double best = 1e9;
  uint64_t sink = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto began = std::chrono::steady_clock::now();
    for (int row = 0; row < rows; ++row) {
      uint64_t key = static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15u;
      key ^= key >> 29;
      const Vector a = all(static_cast<uint32_t>(key));
      const Vector b = all(static_cast<uint32_t>(key >> 32) | 1u);
      for (int at = 0; at < literals / 2; at += kLanes) sink += below(Hash::hash(at, a, b), 6554);
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    best = spent.count() < best ? spent.count() : best;
  }
  std::printf("%s\t%.1f\t%d\n", name, best / rows * 1e9, static_cast<int>(sink & 1));
}

int main() {
  for (uint32_t k = 0; k < 512; ++k) {
    weyl[k] = k * kGolden;
    spread[k] = weyl[k] ^ (weyl[k] >> 16);
  }
  measure<Chosen>("w ^ a, x (2x + b)   (chosen)");
  measure<Keyed>("one keyed product");
  measure<Quadratic>("w + a, x (2x + b)");
  measure<Murmur>("murmur3 fmix32");
  measure<TwoProducts>("constant and keyed product");
  measure<AddXorShift>("four add-xor-shift rounds");
  measure<Nothing>("no hash (the loop alone)");
}
