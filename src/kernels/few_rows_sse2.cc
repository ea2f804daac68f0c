#include <emmintrin.h>

#include <cstring>

#include "kernels/few_rows.h"
#include "kernels/few_rows_sets.h"

#pragma GCC optimize("O3")

namespace hone {
namespace {

using Vector = __m128;
constexpr int kWidth = 4, kSums = 8;

inline Vector zero() { return _mm_setzero_ps(); }
inline Vector load(const float* from) { return _mm_loadu_ps(from); }
inline void store(float* to, Vector v) { _mm_storeu_ps(to, v); }
inline Vector spread(float v) { return _mm_set1_ps(v); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
inline float total(Vector v) {
  const __m128 two = _mm_add_ps(v, _mm_movehl_ps(v, v));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

inline Vector widened(const float* from) { return load(from); }
inline Vector widened(const Bf16* from) {
  const __m128i bits = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), bits));
}
inline Vector widened(const int8_t* from) {
  int32_t four;
  std::memcpy(&four, from, sizeof four);
  const __m128i bytes = _mm_cvtsi32_si128(four), pairs = _mm_unpacklo_epi8(bytes, bytes);
  return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(pairs, pairs), 24));
}

inline float value(float v) { return v; }
inline float value(Bf16 v) { return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(v.bits << 16))); }
inline float value(int8_t v) { return v; }

}  // namespace
}  // namespace hone

#include "kernels/few_rows_loops.h"

namespace hone {

void multiply_rows_sse2(const RowsPlan& plan, const float* rows, const void* matrix, float* result) {
  multiply_all_but_f16(plan, rows, matrix, result);
}

}  // namespace hone
