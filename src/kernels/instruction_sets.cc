#include "kernels/instruction_sets.h"

#include "base/isa.h"

namespace hone {

bool has_avx512_kernels() {
  return has_isa(cpu_isa(), "avx512") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
}

bool has_avx2_kernels() { return has_isa(cpu_isa(), "avx2") && __builtin_cpu_supports("fma"); }

}  // namespace hone
