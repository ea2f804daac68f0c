// As many numbers at a time as a vector register holds, for functions with one version per instruction set: templates of the
// number of lanes, which run_wide() calls with what the CPU has. GCC keeps vectors that are wider than the registers in memory,
// so that sixteen lanes are ten times slower than eight where there is AVX2 alone. All are inlined into their callers, so that
// they are compiled for each instruction set.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/isa.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed between inlined functions only
#define HONE_INLINE inline __attribute__((always_inline))

namespace hone {

inline constexpr int64_t kMostLanes = 16;

// The attributes of a type cannot depend on a template's argument together.
template <int kLanes>
struct VectorsOf;
#define HONE_VECTORS(lanes)                                                                     \
  template <>                                                                                   \
  struct VectorsOf<lanes> {                                                                     \
    typedef float Lane __attribute__((vector_size(4 * lanes), may_alias));                      \
    typedef float UnalignedLane __attribute__((vector_size(4 * lanes), aligned(4), may_alias)); \
    typedef int32_t LaneBits __attribute__((vector_size(4 * lanes), may_alias));                \
  };
HONE_VECTORS(4)
HONE_VECTORS(8)
HONE_VECTORS(16)
#undef HONE_VECTORS

template <int kLanes>
struct Lanes {
  typedef typename VectorsOf<kLanes>::Lane Lane;
  typedef typename VectorsOf<kLanes>::UnalignedLane UnalignedLane;
  typedef typename VectorsOf<kLanes>::LaneBits LaneBits;

  static HONE_INLINE const UnalignedLane& at(const float* from) {
    return *reinterpret_cast<const UnalignedLane*>(from);
  }
  static HONE_INLINE void put(const Lane& x, float* to) { *reinterpret_cast<UnalignedLane*>(to) = x; }

  static HONE_INLINE void bound(Lane& x, float most) {
    x = x < -most ? Lane{} - most : x;
    x = x > most ? Lane{} + most : x;
  }

  // e^x for |x| < 87 within 2 units in the last place, by the polynomial of Cephes' expf.
  static HONE_INLINE void exponential(Lane& x) {
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

  static HONE_INLINE float sum(const Lane& x) {
    float total = 0;
    for (int l = 0; l < kLanes; ++l) total += x[l];
    return total;
  }
};

// The widest vectors of the CPU, as lanes.
inline int widest_lanes() {
  const std::string cpu = cpu_isa();
  if (has_isa(cpu, "avx512")) return 16;
  return has_isa(cpu, "avx2") && __builtin_cpu_supports("fma") ? 8 : 4;
}

// What run_wide() uses. Tests set it to fewer, to run the versions of other CPUs.
inline int& lanes_in_use() {
  static int lanes = widest_lanes();
  return lanes;
}

template <class Body, class... Arguments>
__attribute__((target("avx512f"))) void run_16_lanes(Arguments&... arguments) {
  Body::template run<16>(arguments...);
}
template <class Body, class... Arguments>
__attribute__((target("avx2,fma"))) void run_8_lanes(Arguments&... arguments) {
  Body::template run<8>(arguments...);
}

// Calls Body::run<kLanes>(arguments...), which is HONE_INLINE, compiled for the instruction set of so many lanes.
template <int kLanes, class Body, class... Arguments>
void run_lanes(Arguments&&... arguments) {
  if constexpr (kLanes == 16)
    run_16_lanes<Body>(arguments...);
  else if constexpr (kLanes == 8)
    run_8_lanes<Body>(arguments...);
  else
    Body::template run<kLanes>(arguments...);
}

// The same for the CPU's widest instruction set.
template <class Body, class... Arguments>
void run_wide(Arguments&&... arguments) {
  switch (lanes_in_use()) {
    case 16:
      return run_lanes<16, Body>(arguments...);
    case 8:
      return run_lanes<8, Body>(arguments...);
    default:
      return run_lanes<4, Body>(arguments...);
  }
}

}  // namespace hone
