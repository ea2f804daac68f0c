#include "kernels/instruction_sets.h"

namespace hone {

bool has_avx512_kernels() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
}

bool has_avx2_kernels() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace hone
