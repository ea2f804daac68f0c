// Sixteen numbers at a time, for functions with one version per instruction set (target_clones). All are inlined into their
// callers, so that they are compiled for each.
#pragma once

#include <cstdint>

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed between inlined functions only
#define HONE_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#define HONE_INLINE inline __attribute__((always_inline))

namespace hone {

inline constexpr int64_t kLanes = 16;
typedef float Lane __attribute__((vector_size(4 * kLanes), may_alias));
typedef float UnalignedLane __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
typedef int32_t LaneBits __attribute__((vector_size(4 * kLanes), may_alias));

HONE_INLINE void bound(Lane& x, float most) {
  x = x < -most ? Lane{} - most : x;
  x = x > most ? Lane{} + most : x;
}

// e^x for |x| < 87 within 2 units in the last place, by the polynomial of Cephes' expf.
HONE_INLINE void exponential(Lane& x) {
  const Lane n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;  // rounds to the nearest integer
  const Lane r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Lane p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const LaneBits power = (__builtin_convertvector(n, LaneBits) + 127) << 23;
  x = p * (Lane)power;
}

}  // namespace hone
