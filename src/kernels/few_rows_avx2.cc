#include <immintrin.h>

#include "kernels/few_rows.h"
#include "kernels/few_rows_sets.h"

// For all that follows, templates included.
#pragma GCC target("avx2,fma,f16c")
#pragma GCC optimize("O3")

namespace hone {
namespace {

using Vector = __m256;
constexpr int kWidth = 8, kSums = 8;

inline Vector zero() { return _mm256_setzero_ps(); }
inline Vector load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
inline Vector spread(float v) { return _mm256_set1_ps(v); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
inline float total(Vector v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)),
               two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline __m128i eight_halves(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline Vector widened(const float* from) { return load(from); }
inline Vector widened(const Bf16* from) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(eight_halves(from)), 16));
}
inline Vector widened(const F16* from) { return _mm256_cvtph_ps(eight_halves(from)); }
inline Vector widened(const int8_t* from) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}

inline float value(float v) { return v; }
inline float value(Bf16 v) { return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(v.bits << 16))); }
inline float value(F16 v) { return _cvtsh_ss(v.bits); }
inline float value(int8_t v) { return v; }

}  // namespace
}  // namespace hone

#include "kernels/few_rows_loops.h"

namespace hone {

void multiply_rows_avx2(const RowsPlan& plan, const float* rows, const void* matrix, float* result) {
  plan.element == RowsElement::F16 ? multiply_elements<F16>(plan, rows, matrix, result)
                                   : multiply_all_but_f16(plan, rows, matrix, result);
}

}  // namespace hone
