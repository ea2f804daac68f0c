// Eigenvalues, and the forms of a matrix on the way to them. The names of arguments are LAPACK's.
#include <cmath>

#include "base/error.h"
#include "kernels/lapack_call.h"

namespace hone {
namespace {

// Info of a matrix with elements that are not finite, which LAPACK may not be given.
constexpr int32_t kNotFinite = -4;

template <class T>
bool all_finite(const T* elements, int64_t count) {
  return std::all_of(elements, elements + count,
                     [](const T& x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
}

LapackStack square_stack(const LapackCall& call) {
  const LapackStack s = call.argument_stack(0);
  if (s.rows != s.cols) throw Error("a call of LAPACK needs square matrices");
  return s;
}

// syevd, heevd. (a) -> (vectors, values, info)
template <class T>
void symmetric(const LapackCall& call) {
  using Real = typename LapackElement<T>::Real;
  const LapackStack s = square_stack(call);
  const int64_t n = s.rows, lda = s.lead();
  T* a = call.copied<T>(0, 0, s.batch * s.size());
  Real* values = call.result<Real>(1, s.batch * n);
  int32_t* info = call.result<int32_t>(2, s.batch);
  const LapackFunction evd = lapack_function<T>(call, "syevd", "heevd");
  const char mode = call.letter("mode"), uplo = call.letter("uplo");
  // The sizes of LAPACK's documentation.
  LapackIntegers iwork(*call.library, 3 + 5 * n);
  std::vector<Real> rwork(LapackElement<T>::is_complex ? 1 + 5 * n + 2 * n * n : 0);
  const int64_t liwork = 3 + 5 * n, lrwork = rwork.size();
  int64_t failed = 0;
  const auto decompose = [&](T* matrix, Real* w, T* work, const int64_t* size) {
    if constexpr (LapackElement<T>::is_complex)
      evd(&mode, &uplo, &n, matrix, &lda, w, work, size, rwork.data(), &lrwork, iwork.data(), &liwork, &failed);
    else
      evd(&mode, &uplo, &n, matrix, &lda, w, work, size, iwork.data(), &liwork, &failed);
  };
  std::vector<T> work(LapackElement<T>::is_complex ? 1 + 2 * n + n * n : 1 + 6 * n + 2 * n * n);
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    failed = 0;
    decompose(a + i * s.size(), values + i * n, work.data(), &lwork);
    info[i] = narrowed(failed);
  }
}

// The eigenvectors of a real matrix: LAPACK packs each pair of conjugate ones into two real columns.
template <class R>
void unpack(int64_t n, const R* imaginary, const R* packed, std::complex<R>* vectors) {
  for (int64_t j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0 && !std::isnan(imaginary[j]) && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R real = packed[j * n + i], imag = pair ? packed[(j + 1) * n + i] : R(0);
      vectors[j * n + i] = {real, imag};
      if (pair) vectors[(j + 1) * n + i] = {real, -imag};
    }
    j += pair;
  }
}

// geev of real matrices. (a) -> (real parts, imaginary parts, left vectors, right vectors, info)
template <class T>
void general_real(const LapackCall& call) {
  const LapackStack s = square_stack(call);
  const int64_t n = s.rows, lda = s.lead();
  const T* a = call.argument<T>(0, s.batch * s.size());
  T *wr = call.result<T>(0, s.batch * n), *wi = call.result<T>(1, s.batch * n);
  std::complex<T>* vectors[] = {call.result<std::complex<T>>(2, s.batch * s.size()),
                                call.result<std::complex<T>>(3, s.batch * s.size())};
  int32_t* info = call.result<int32_t>(4, s.batch);
  const LapackFunction geev = lapack_function<T>(call, "geev", "geev");
  const char left = call.letter("compute_left"), right = call.letter("compute_right");
  std::vector<T> matrix(s.size()), vl(s.size()), vr(s.size());
  int64_t failed = 0;
  const auto decompose = [&](int64_t i, T* work, const int64_t* size) {
    geev(&left, &right, &n, matrix.data(), &lda, wr + i * n, wi + i * n, vl.data(), &lda, vr.data(), &lda, work, size,
         &failed);
  };
  if (s.batch == 0) return;
  auto work = lapack_workspace<T>([&](T* w, const int64_t* size) { decompose(0, w, size); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    std::copy_n(a + i * s.size(), s.size(), matrix.data());
    failed = kNotFinite;
    if (all_finite(matrix.data(), s.size())) {
      failed = 0;
      decompose(i, work.data(), &lwork);
    }
    info[i] = narrowed(failed);
    if (info[i] != 0) continue;
    if (left == 'V') unpack(n, wi + i * n, vl.data(), vectors[0] + i * s.size());
    if (right == 'V') unpack(n, wi + i * n, vr.data(), vectors[1] + i * s.size());
  }
}

// geev of complex matrices. (a) -> (values, left vectors, right vectors, info)
template <class T>
void general_complex(const LapackCall& call) {
  const LapackStack s = square_stack(call);
  const int64_t n = s.rows, lda = s.lead();
  const T* a = call.argument<T>(0, s.batch * s.size());
  T *values = call.result<T>(0, s.batch * n), *vl = call.result<T>(1, s.batch * s.size());
  T* vr = call.result<T>(2, s.batch * s.size());
  int32_t* info = call.result<int32_t>(3, s.batch);
  const LapackFunction geev = lapack_function<T>(call, "geev", "geev");
  const char left = call.letter("compute_left"), right = call.letter("compute_right");
  std::vector<T> matrix(s.size());
  std::vector<typename LapackElement<T>::Real> rwork(2 * n + 1);
  int64_t failed = 0;
  const auto decompose = [&](int64_t i, T* work, const int64_t* size) {
    geev(&left, &right, &n, matrix.data(), &lda, values + i * n, vl + i * s.size(), &lda, vr + i * s.size(), &lda, work,
         size, rwork.data(), &failed);
  };
  if (s.batch == 0) return;
  auto work = lapack_workspace<T>([&](T* w, const int64_t* size) { decompose(0, w, size); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    std::copy_n(a + i * s.size(), s.size(), matrix.data());
    failed = kNotFinite;
    if (all_finite(matrix.data(), s.size())) {
      failed = 0;
      decompose(i, work.data(), &lwork);
    }
    info[i] = narrowed(failed);
  }
}

template <class T>
void general(const LapackCall& call) {
  if constexpr (LapackElement<T>::is_complex)
    general_complex<T>(call);
  else
    general_real<T>(call);
}

// gees. (a) -> (Schur form, vectors, values, number of sorted ones, info); the values are two arrays, real and imaginary parts, of real
// matrices. Nothing is sorted.
template <class T>
void schur(const LapackCall& call) {
  constexpr bool complex = LapackElement<T>::is_complex;
  const LapackStack s = square_stack(call);
  const int64_t n = s.rows, lda = s.lead();
  T *a = call.copied<T>(0, 0, s.batch * s.size()), *vectors = call.result<T>(1, s.batch * s.size());
  T *values = call.result<T>(2, s.batch * n), *imaginary = complex ? nullptr : call.result<T>(3, s.batch * n);
  int32_t *sorted = call.result<int32_t>(complex ? 3 : 4, s.batch),
          *info = call.result<int32_t>(complex ? 4 : 5, s.batch);
  const LapackFunction gees = lapack_function<T>(call, "gees", "gees");
  const char mode = call.letter("mode"), sort = call.letter("sort");
  if (sort != 'N')
    throw Error("LAPACK's Schur form with sorted eigenvalues needs a function, which no program can give");
  std::vector<typename LapackElement<T>::Real> rwork(n + 1);
  int64_t failed = 0, count = 0;
  const void* none = nullptr;
  const auto decompose = [&](int64_t i, T* work, const int64_t* size) {
    T *form = a + i * s.size(), *vs = vectors + i * s.size(), *w = values + i * n;
    if constexpr (complex)
      gees(&mode, &sort, none, &n, form, &lda, &count, w, vs, &lda, work, size, rwork.data(), none, &failed);
    else
      gees(&mode, &sort, none, &n, form, &lda, &count, w, imaginary + i * n, vs, &lda, work, size, none, &failed);
  };
  if (s.batch == 0) return;
  auto work = lapack_workspace<T>([&](T* w, const int64_t* size) { decompose(0, w, size); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    failed = count = 0;
    decompose(i, work.data(), &lwork);
    sorted[i] = narrowed(count);
    info[i] = narrowed(failed);
  }
}

// gehrd. (a) -> (form and reflectors, taus, info)
template <class T>
void hessenberg(const LapackCall& call) {
  const LapackStack s = square_stack(call);
  const int64_t n = s.rows, lda = s.lead(), steps = std::max<int64_t>(n - 1, 0);
  T *a = call.copied<T>(0, 0, s.batch * s.size()), *taus = call.result<T>(1, s.batch * steps);
  int32_t* info = call.result<int32_t>(2, s.batch);
  const LapackFunction gehrd = lapack_function<T>(call, "gehrd", "gehrd");
  const int64_t low = call.attribute("low"), high = call.attribute("high");
  int64_t failed = 0;
  auto work =
      lapack_workspace<T>([&](T* w, int64_t* size) { gehrd(&n, &low, &high, a, &lda, taus, w, size, &failed); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    failed = 0;
    gehrd(&n, &low, &high, a + i * s.size(), &lda, taus + i * steps, work.data(), &lwork, &failed);
    info[i] = narrowed(failed);
  }
}

// sytrd, hetrd. (a) -> (form and reflectors, diagonal, the diagonal beside it, taus, info)
template <class T>
void tridiagonal(const LapackCall& call) {
  using Real = typename LapackElement<T>::Real;
  const LapackStack s = square_stack(call);
  const int64_t n = s.rows, lda = s.lead(), steps = std::max<int64_t>(n - 1, 0);
  T *a = call.copied<T>(0, 0, s.batch * s.size()), *taus = call.result<T>(3, s.batch * steps);
  Real *d = call.result<Real>(1, s.batch * n), *e = call.result<Real>(2, s.batch * steps);
  int32_t* info = call.result<int32_t>(4, s.batch);
  const LapackFunction trd = lapack_function<T>(call, "sytrd", "hetrd");
  const char uplo = call.letter("uplo");
  int64_t failed = 0;
  auto work = lapack_workspace<T>([&](T* w, int64_t* size) { trd(&uplo, &n, a, &lda, d, e, taus, w, size, &failed); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    failed = 0;
    trd(&uplo, &n, a + i * s.size(), &lda, d + i * n, e + i * steps, taus + i * steps, work.data(), &lwork, &failed);
    info[i] = narrowed(failed);
  }
}

}  // namespace

std::vector<LapackRoutine> lapack_eigenvalue_routines() {
  return {HONE_LAPACK_ROWS("syevd", "heevd", symmetric), HONE_LAPACK_ROWS("geev", "geev", general),
          HONE_LAPACK_ROWS("gees", "gees", schur), HONE_LAPACK_ROWS("gehrd", "gehrd", hessenberg),
          HONE_LAPACK_ROWS("sytrd", "hetrd", tridiagonal)};
}

}  // namespace hone
