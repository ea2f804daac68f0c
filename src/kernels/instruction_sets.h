// Which builds of a kernel the machine can run.
#pragma once

namespace hone {

bool has_avx512_kernels();  // AVX-512 F, BW, VL and DQ, and FMA
bool has_avx2_kernels();    // AVX2 and FMA

template <class Kernel>
const Kernel& widest_kernel(const Kernel& avx512, const Kernel& avx2, const Kernel& portable) {
  return has_avx512_kernels() ? avx512 : has_avx2_kernels() ? avx2 : portable;
}

}  // namespace hone
