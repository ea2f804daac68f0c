// Singular values. The names of arguments are LAPACK's.
#include "base/error.h"
#include "kernels/lapack_call.h"

namespace hone {
namespace {

// What both routines are given. (a) -> (overwritten, singular values, u, vt, info)
template <class T>
struct Decomposition {
  using Real = typename LapackElement<T>::Real;

  explicit Decomposition(const LapackCall& call)
      : s(call.argument_stack(0)),
        us(call.result_stack(2)),
        vs(call.result_stack(3)),
        m(s.rows),
        n(s.cols),
        lda(s.lead()),
        ldu(us.lead()),
        ldvt(vs.lead()),
        mode(call.letter("mode")),
        a(call.copied<T>(0, 0, s.batch * s.size())),
        u(call.result<T>(2, s.batch * us.size())),
        vt(call.result<T>(3, s.batch * vs.size())),
        values(call.result<Real>(1, s.batch * s.smaller())),
        info(call.result<int32_t>(4, s.batch)) {
    const int64_t shown = mode == 'A' ? std::max(m, n) : s.smaller();
    const bool vectors = mode != 'N';
    if (mode != 'A' && mode != 'S' && mode != 'N') throw Error("an unknown mode of LAPACK's singular values");
    if (vectors && (us.rows != m || us.cols != std::min(m, shown) || vs.rows != std::min(n, shown) || vs.cols != n))
      throw Error("the vectors of LAPACK's singular values do not fit the matrix");
  }

  // `run(i, work, size)` decomposes the i-th matrix.
  template <class Run>
  void all(const Run& run) {
    if (s.batch == 0) return;
    auto work = lapack_workspace<T>([&](T* w, const int64_t* size) { run(0, w, size); });
    const int64_t lwork = work.size();
    for (int64_t i = 0; i < s.batch; ++i) {
      failed = 0;
      run(i, work.data(), &lwork);
      info[i] = narrowed(failed);
    }
  }

  const LapackStack s, us, vs;
  const int64_t m, n, lda, ldu, ldvt;
  const char mode;
  T *a, *u, *vt;
  Real* values;
  int32_t* info;
  int64_t failed = 0;
};

// Elements of gesdd's real workspace for complex matrices, by LAPACK's documentation.
int64_t divided_workspace(int64_t smaller, int64_t larger, bool vectors) {
  if (!vectors) return 7 * smaller;
  return std::max(5 * smaller * smaller + 5 * smaller, 2 * larger * smaller + 2 * smaller * smaller + smaller);
}

// gesdd: divide and conquer.
template <class T>
void divided(const LapackCall& call) {
  Decomposition<T> d(call);
  const int64_t smaller = d.s.smaller(), larger = std::max(d.m, d.n);
  const LapackFunction gesdd = lapack_function<T>(call, "gesdd", "gesdd");
  LapackIntegers iwork(*call.library, 8 * smaller);
  std::vector<typename Decomposition<T>::Real> rwork(
      LapackElement<T>::is_complex ? 1 + divided_workspace(smaller, larger, d.mode != 'N') : 0);
  d.all([&](int64_t i, T* work, const int64_t* size) {
    T *a = d.a + i * d.s.size(), *u = d.u + i * d.us.size(), *vt = d.vt + i * d.vs.size();
    auto* values = d.values + i * smaller;
    if constexpr (LapackElement<T>::is_complex)
      gesdd(&d.mode, &d.m, &d.n, a, &d.lda, values, u, &d.ldu, vt, &d.ldvt, work, size, rwork.data(), iwork.data(),
            &d.failed);
    else
      gesdd(&d.mode, &d.m, &d.n, a, &d.lda, values, u, &d.ldu, vt, &d.ldvt, work, size, iwork.data(), &d.failed);
  });
}

// gesvd: QR iterations.
template <class T>
void iterated(const LapackCall& call) {
  Decomposition<T> d(call);
  const int64_t smaller = d.s.smaller();
  const LapackFunction gesvd = lapack_function<T>(call, "gesvd", "gesvd");
  std::vector<typename Decomposition<T>::Real> rwork(LapackElement<T>::is_complex ? 1 + 5 * smaller : 0);
  d.all([&](int64_t i, T* work, const int64_t* size) {
    T *a = d.a + i * d.s.size(), *u = d.u + i * d.us.size(), *vt = d.vt + i * d.vs.size();
    auto* values = d.values + i * smaller;
    if constexpr (LapackElement<T>::is_complex)
      gesvd(&d.mode, &d.mode, &d.m, &d.n, a, &d.lda, values, u, &d.ldu, vt, &d.ldvt, work, size, rwork.data(),
            &d.failed);
    else
      gesvd(&d.mode, &d.mode, &d.m, &d.n, a, &d.lda, values, u, &d.ldu, vt, &d.ldvt, work, size, &d.failed);
  });
}

}  // namespace

std::vector<LapackRoutine> lapack_singular_value_routines() {
  return {HONE_LAPACK_ROWS("gesdd", "gesdd", divided), HONE_LAPACK_ROWS("gesvd", "gesvd", iterated)};
}

}  // namespace hone
