// Which kernels run here.
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/kernels.hpp"

#if defined(COTM_X86) && defined(_MSC_VER)
#include <intrin.h>
#elif defined(COTM_X86)
#include <cpuid.h>
#endif

namespace cotm {

namespace {

#ifdef COTM_X86
// What the files with wide instructions may use.
struct Features {
  bool avx2, avx512;
};

// The registers that the system saves.
uint32_t saved_registers() {
#if defined(__GNUC__) || defined(__clang__)
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#else
  return static_cast<uint32_t>(_xgetbv(0));
#endif
}

// Not every compiler brings a library that knows. Microsoft's /arch:AVX2 and /arch:AVX512 allow
// more than -mavx2 and its like: FMA, BMI2, LZCNT and CD, which such processors have.
Features features() {
  const auto ask = [](uint32_t leaf, uint32_t (&answer)[4]) {
#ifdef _MSC_VER
    __cpuidex(reinterpret_cast<int*>(answer), static_cast<int>(leaf), 0);
#else
    __cpuid_count(leaf, 0, answer[0], answer[1], answer[2], answer[3]);
#endif
  };
  const auto has = [](uint32_t word, uint32_t bits) { return (word & bits) == bits; };
  const auto bit = [](int place) { return uint32_t{1} << place; };
  uint32_t most[4], basic[4], wide[4], extended[4];
  ask(0, most);
  ask(1, basic);
  if (most[0] < 7 || !has(basic[2], bit(12) | bit(27) | bit(28))) return {};  // FMA, XGETBV, AVX
  ask(7, wide);
  ask(0x80000001, extended);
  const uint32_t saved = saved_registers();
  const bool avx2 = has(saved, 0x06) && has(extended[2], bit(5)) &&  // LZCNT
                    has(wide[1], bit(3) | bit(5) | bit(8));          // BMI, AVX2, BMI2
  return {avx2, avx2 && has(saved, 0xE6) &&                          // F, DQ, CD, BW, VL
                    has(wide[1], bit(16) | bit(17) | bit(28) | bit(30) | bit(31))};
}
#endif

const char* const kNames[] = {"avx512", "avx2", "neon", "baseline"};  // the best first

// Null where this processor does not run them.
const Kernels* find(const char* name) {
#ifdef COTM_X86
  if (!std::strcmp(name, "avx512")) return features().avx512 ? &kernels_avx512() : nullptr;
  if (!std::strcmp(name, "avx2")) return features().avx2 ? &kernels_avx2() : nullptr;
#endif
#ifdef COTM_NEON
  if (!std::strcmp(name, "neon")) return &kernels_neon();  // every processor of aarch64 has it
#endif
  return std::strcmp(name, "baseline") ? nullptr : &kernels_baseline();
}

}  // namespace

const char* best_isa() {
  for (const char* name : kNames) {
    if (find(name)) return name;
  }
  return "baseline";
}

const Kernels& choose_kernels(const char* name) {
  if (!name || !*name) name = best_isa();
  if (const Kernels* kernels = find(name)) return *kernels;
  for (const char* known : kNames) {
    if (std::strcmp(name, known)) continue;
    throw std::invalid_argument("COTM_ISA=" + std::string(name) +
                                " asks for instructions this processor does not have; the best it "
                                "runs is " +
                                best_isa());
  }
  throw std::invalid_argument("COTM_ISA=" + std::string(name) +
                              " is not an instruction set; use baseline, avx2, avx512 or neon");
}

}  // namespace cotm
