// Which kernels run here.
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/kernels.hpp"

namespace cotm {

namespace {

bool runs(const char* name) {
  if (std::strcmp(name, "baseline") == 0) return true;
#ifdef COTM_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
  if (std::strcmp(name, "avx2") == 0) return avx2;
  if (std::strcmp(name, "avx512") == 0) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return false;
}

}  // namespace

const char* best_isa() {
  for (const char* name : {"avx512", "avx2"}) {
    if (runs(name)) return name;
  }
  return "baseline";
}

const Kernels& choose_kernels(const char* name) {
  if (!name || !*name) name = best_isa();
  const bool known = std::strcmp(name, "baseline") == 0 || std::strcmp(name, "avx2") == 0 ||
                     std::strcmp(name, "avx512") == 0;
  if (!known) {
    throw std::invalid_argument("COTM_ISA=" + std::string(name) +
                                " is not an instruction set; use baseline, avx2 or avx512");
  }
  if (!runs(name)) {
    throw std::invalid_argument("COTM_ISA=" + std::string(name) +
                                " asks for instructions this processor does not have; the best it "
                                "runs is " +
                                best_isa());
  }
#ifdef COTM_X86
  if (std::strcmp(name, "avx512") == 0) return kernels_avx512();
  if (std::strcmp(name, "avx2") == 0) return kernels_avx2();
#endif
  return kernels_baseline();
}

}  // namespace cotm
