// Factorisations and systems of equations. The names of arguments are LAPACK's.
#include "base/error.h"
#include "kernels/lapack_call.h"

namespace hone {
namespace {

// potrf. (a) -> (factor, info)
template <class T>
void cholesky(const LapackCall& call) {
  const LapackStack s = call.argument_stack(0);
  T* a = call.copied<T>(0, 0, s.batch * s.size());
  int32_t* info = call.result<int32_t>(1, s.batch);
  const LapackFunction potrf = lapack_function<T>(call, "potrf", "potrf");
  const char uplo = call.letter("uplo");
  const int64_t n = s.smaller(), lda = s.lead();
  for (int64_t i = 0; i < s.batch; ++i) {
    int64_t failed = 0;
    potrf(&uplo, &n, a + i * s.size(), &lda, &failed);
    info[i] = narrowed(failed);
  }
}

// trsm. (a, b) -> x
template <class T>
void triangular_solve(const LapackCall& call) {
  const LapackStack s = call.argument_stack(1);
  const char side = call.letter("side"), uplo = call.letter("uplo"), trans = call.letter("trans_x"),
             diag = call.letter("diag");
  const int64_t m = s.rows, n = s.cols, ldb = s.lead(), k = side == 'L' ? m : n, lda = std::max<int64_t>(k, 1);
  const T* a = call.argument<T>(0, s.batch * k * k);
  T* x = call.copied<T>(0, 1, s.batch * s.size());
  const LapackFunction trsm = lapack_function<T>(call, "trsm", "trsm");
  const T alpha = 1;
  for (int64_t i = 0; i < s.batch; ++i)
    trsm(&side, &uplo, &trans, &diag, &m, &n, &alpha, a + i * k * k, &lda, x + i * s.size(), &ldb);
}

// getrf. (a) -> (factors, pivots, info)
template <class T>
void lu(const LapackCall& call) {
  const LapackStack s = call.argument_stack(0);
  T* a = call.copied<T>(0, 0, s.batch * s.size());
  const int64_t m = s.rows, n = s.cols, lda = s.lead(), k = s.smaller();
  int32_t *pivots = call.result<int32_t>(1, s.batch * k), *info = call.result<int32_t>(2, s.batch);
  const LapackFunction getrf = lapack_function<T>(call, "getrf", "getrf");
  LapackIntegers ipiv(*call.library, k);
  for (int64_t i = 0; i < s.batch; ++i) {
    int64_t failed = 0;
    getrf(&m, &n, a + i * s.size(), &lda, ipiv.data(), &failed);
    for (int64_t j = 0; j < k; ++j) pivots[i * k + j] = ipiv.get(j);
    info[i] = narrowed(failed);
  }
}

// geqrf. (a) -> (factors, taus)
template <class T>
void qr(const LapackCall& call) {
  const LapackStack s = call.argument_stack(0);
  T* a = call.copied<T>(0, 0, s.batch * s.size());
  T* taus = call.result<T>(1, s.batch * s.smaller());
  const LapackFunction geqrf = lapack_function<T>(call, "geqrf", "geqrf");
  const int64_t m = s.rows, n = s.cols, lda = s.lead();
  int64_t failed = 0;
  auto work = lapack_workspace<T>([&](T* w, int64_t* size) { geqrf(&m, &n, a, &lda, taus, w, size, &failed); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i)
    geqrf(&m, &n, a + i * s.size(), &lda, taus + i * s.smaller(), work.data(), &lwork, &failed);
}

// geqp3. (a, jpvt) -> (factors, jpvt, taus)
template <class T>
void pivoted_qr(const LapackCall& call) {
  using Real = typename LapackElement<T>::Real;
  const LapackStack s = call.argument_stack(0);
  T *a = call.copied<T>(0, 0, s.batch * s.size()), *taus = call.result<T>(2, s.batch * s.smaller());
  int32_t* columns = call.copied<int32_t>(1, 1, s.batch * s.cols);
  const LapackFunction geqp3 = lapack_function<T>(call, "geqp3", "geqp3");
  const int64_t m = s.rows, n = s.cols, lda = s.lead();
  int64_t failed = 0;
  LapackIntegers jpvt(*call.library, n);
  std::vector<Real> rwork(2 * n + 1);
  const auto factor = [&](T* matrix, T* tau, T* work, const int64_t* size) {
    if constexpr (LapackElement<T>::is_complex)
      geqp3(&m, &n, matrix, &lda, jpvt.data(), tau, work, size, rwork.data(), &failed);
    else
      geqp3(&m, &n, matrix, &lda, jpvt.data(), tau, work, size, &failed);
  };
  auto work = lapack_workspace<T>([&](T* w, const int64_t* size) { factor(a, taus, w, size); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    for (int64_t j = 0; j < n; ++j) jpvt.set(j, columns[i * n + j]);
    factor(a + i * s.size(), taus + i * s.smaller(), work.data(), &lwork);
    for (int64_t j = 0; j < n; ++j) columns[i * n + j] = jpvt.get(j);
  }
}

// orgqr, ungqr. (factors, taus) -> q
template <class T>
void householder_product(const LapackCall& call) {
  const LapackStack s = call.argument_stack(0);
  T* a = call.copied<T>(0, 0, s.batch * s.size());
  const int64_t m = s.rows, n = s.cols, lda = s.lead(), k = s.batch > 0 ? call.arguments.at(1).count() / s.batch : 0;
  const T* taus = call.argument<T>(1, s.batch * k);
  const LapackFunction orgqr = lapack_function<T>(call, "orgqr", "ungqr");
  int64_t failed = 0;
  auto work = lapack_workspace<T>([&](T* w, int64_t* size) { orgqr(&m, &n, &k, a, &lda, taus, w, size, &failed); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i)
    orgqr(&m, &n, &k, a + i * s.size(), &lda, taus + i * k, work.data(), &lwork, &failed);
}

// ormqr, unmqr. (factors, taus, c) -> product. LAPACK puts ones on the diagonal of the factors while it computes, and what they
// were afterwards: it gets a copy, since another operation of the program may read them at that time.
template <class T>
void householder_multiply(const LapackCall& call) {
  const LapackStack s = call.argument_stack(2), f = call.argument_stack(0);
  const bool left = call.attribute("left") != 0, transpose = call.attribute("transpose") != 0;
  const char side = left ? 'L' : 'R', trans = !transpose ? 'N' : LapackElement<T>::is_complex ? 'C' : 'T';
  const int64_t m = s.rows, n = s.cols, ldc = s.lead(), lda = f.lead();
  const int64_t k = s.batch > 0 ? call.arguments.at(1).count() / s.batch : 0;
  const T *factors = call.argument<T>(0, s.batch * f.size()), *taus = call.argument<T>(1, s.batch * k);
  if (f.rows != (left ? m : n) || f.cols < k)
    throw Error("the reflectors of a product of LAPACK do not fit the matrix");
  T* c = call.copied<T>(0, 2, s.batch * s.size());
  const LapackFunction ormqr = lapack_function<T>(call, "ormqr", "unmqr");
  int64_t failed = 0;
  std::vector<T> a(f.size());
  auto work = lapack_workspace<T>(
      [&](T* w, int64_t* size) { ormqr(&side, &trans, &m, &n, &k, a.data(), &lda, taus, c, &ldc, w, size, &failed); });
  const int64_t lwork = work.size();
  for (int64_t i = 0; i < s.batch; ++i) {
    std::copy_n(factors + i * f.size(), f.size(), a.data());
    ormqr(&side, &trans, &m, &n, &k, a.data(), &lda, taus + i * k, c + i * s.size(), &ldc, work.data(), &lwork,
          &failed);
  }
}

// gtsv. (dl, d, du, b) -> (dl, d, du, x, info). The diagonals have n elements each; those of dl and du that are no elements of
// the matrix are the first and the last.
template <class T>
void tridiagonal_solve(const LapackCall& call) {
  const LapackStack s = call.argument_stack(3);
  const int64_t n = s.rows, columns = s.cols, ldb = s.lead();
  T *dl = call.copied<T>(0, 0, s.batch * n), *d = call.copied<T>(1, 1, s.batch * n),
    *du = call.copied<T>(2, 2, s.batch * n);
  T* x = call.copied<T>(3, 3, s.batch * s.size());
  int32_t* info = call.result<int32_t>(4, s.batch);
  const LapackFunction gtsv = lapack_function<T>(call, "gtsv", "gtsv");
  for (int64_t i = 0; i < s.batch; ++i) {
    int64_t failed = 0;
    gtsv(&n, &columns, dl + i * n + 1, d + i * n, du + i * n, x + i * s.size(), &ldb, &failed);
    info[i] = narrowed(failed);
  }
}

}  // namespace

std::vector<LapackRoutine> lapack_factor_routines() {
  return {HONE_LAPACK_ROWS("potrf", "potrf", cholesky),
          HONE_LAPACK_ROWS("trsm", "trsm", triangular_solve),
          HONE_LAPACK_ROWS("getrf", "getrf", lu),
          HONE_LAPACK_ROWS("geqrf", "geqrf", qr),
          HONE_LAPACK_ROWS("geqp3", "geqp3", pivoted_qr),
          HONE_LAPACK_ROWS("orgqr", "ungqr", householder_product),
          HONE_LAPACK_ROWS("ormqr", "unmqr", householder_multiply),
          HONE_LAPACK_ROWS("gtsv", "gtsv", tridiagonal_solve)};
}

}  // namespace hone
