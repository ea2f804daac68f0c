// multiply_rows() for one instruction set each. The first reads no f16.
#pragma once

#include <cstdint>

namespace hone {

struct RowsPlan;  // kernels/few_rows.h

void multiply_rows_sse2(const RowsPlan& plan, const float* rows, const void* matrix, float* result);
void multiply_rows_avx2(const RowsPlan& plan, const float* rows, const void* matrix, float* result);
void multiply_rows_avx512(const RowsPlan& plan, const float* rows, const void* matrix, float* result);

// Elements as they are stored.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

}  // namespace hone
