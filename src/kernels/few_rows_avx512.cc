#include <immintrin.h>

#include "kernels/few_rows.h"
#include "kernels/few_rows_sets.h"

// For all that follows, templates included.
#pragma GCC target("avx512f,fma,f16c")
#pragma GCC optimize("O3")
// GCC's own headers: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105593
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

namespace hone {
namespace {

using Vector = __m512;
constexpr int kWidth = 16, kSums = 16;

inline Vector zero() { return _mm512_setzero_ps(); }
inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
inline Vector spread(float v) { return _mm512_set1_ps(v); }
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
inline float total(Vector v) { return _mm512_reduce_add_ps(v); }

inline __m256i half_of_line(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
inline Vector widened(const float* from) { return load(from); }
inline Vector widened(const Bf16* from) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half_of_line(from)), 16));
}
inline Vector widened(const F16* from) { return _mm512_cvtph_ps(half_of_line(from)); }
inline Vector widened(const int8_t* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

inline float value(float v) { return v; }
inline float value(Bf16 v) { return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(v.bits << 16))); }
inline float value(F16 v) { return _cvtsh_ss(v.bits); }
inline float value(int8_t v) { return v; }

}  // namespace
}  // namespace hone

#include "kernels/few_rows_loops.h"

namespace hone {

void multiply_rows_avx512(const RowsPlan& plan, const float* rows, const void* matrix, float* result) {
  plan.element == RowsElement::F16 ? multiply_elements<F16>(plan, rows, matrix, result)
                                   : multiply_all_but_f16(plan, rows, matrix, result);
}

}  // namespace hone
