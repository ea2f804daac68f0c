// A system of three diagonals that may be singular, as LAPACK's xLAGTF and xLAGTS solve it (Wilkinson and Reinsch, The Algebraic
// Eigenvalue Problem): Gaussian elimination with row pivots, where a pivot too small to divide by is changed by the rounding error
// of the largest element. xLAGTS has neither complex numbers nor several right-hand sides.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "kernels/lapack_call.h"

namespace hone {
namespace {

// Rows of the upper triangle: its diagonal and the two above it.
template <class T>
struct Triangle {
  explicit Triangle(int64_t n) : diagonal(n), first(n), second(n) {}
  std::vector<T> diagonal, first, second;
};

template <class T>
struct System {
  const T *below, *diagonal, *above;
  int64_t n, columns;
};

// Eliminates what is below the diagonal, in the right-hand sides `x` (column by column) as well.
template <class T>
Triangle<T> eliminated(const System<T>& in, T* x) {
  using std::abs;
  const int64_t n = in.n;
  Triangle<T> u(n);
  u.diagonal[0] = in.diagonal[0];
  if (n > 1) u.first[0] = in.above[0];
  auto scale = abs(u.diagonal[0]) + abs(u.first[0]);  // of the row that eliminates
  for (int64_t k = 0; k + 1 < n; ++k) {
    const T low = in.below[k + 1], next = in.diagonal[k + 1], after = k + 2 < n ? in.above[k + 1] : T(0);
    const auto next_scale = abs(low) + abs(next) + abs(after);
    const bool keep = low == T(0) || (u.diagonal[k] != T(0) && abs(low) / next_scale <= abs(u.diagonal[k]) / scale);
    T factor = 0;
    if (keep) {
      if (low != T(0)) factor = low / u.diagonal[k];
      u.diagonal[k + 1] = next - factor * u.first[k];
      u.first[k + 1] = after;
      scale = next_scale;
    } else {  // the rows change places
      factor = u.diagonal[k] / low;
      const T first = u.first[k];
      u.diagonal[k] = low;
      u.first[k] = next;
      u.second[k] = after;
      u.diagonal[k + 1] = first - factor * next;
      u.first[k + 1] = -factor * after;
      scale = abs(u.diagonal[k + 1]) + abs(u.first[k + 1]);
    }
    for (int64_t c = 0; c < in.columns; ++c) {
      T* column = x + c * n + k;
      if (!keep) std::swap(column[0], column[1]);
      column[1] -= factor * column[0];
    }
  }
  return u;
}

// Changes the pivot until right-hand sides as large as `largest` can be divided by it; scales them where that is enough.
template <class R, class T>
R divisor_scale(T& pivot, R perturbation, R largest) {
  constexpr R safe = std::numeric_limits<R>::min();
  perturbation = std::copysign(std::max(std::abs(perturbation), safe), std::real(pivot));
  for (R size = std::abs(pivot); size < 1; size = std::abs(pivot)) {
    const bool tiny = size < safe;
    if (tiny ? size == 0 || largest * safe > size : largest > size / safe) {
      pivot += perturbation;
      perturbation *= 2;
      continue;
    }
    if (!tiny) return 1;
    pivot *= 1 / safe;
    return 1 / safe;
  }
  return 1;
}

template <class T>
void solve(const System<T>& in, T* x) {
  using R = typename LapackElement<T>::Real;
  const Triangle<T> u = eliminated(in, x);
  const int64_t n = in.n;
  R largest = 0;
  for (int64_t k = 0; k < n; ++k)
    largest = std::max({largest, std::abs(u.diagonal[k]), std::abs(u.first[k]), std::abs(u.second[k])});
  const R perturbation = std::numeric_limits<R>::epsilon() * largest;
  std::vector<T> row(in.columns);
  for (int64_t k = n - 1; k >= 0; --k) {
    R size = 0;
    for (int64_t c = 0; c < in.columns; ++c) {
      const T* column = x + c * n;
      row[c] = column[k];
      if (k + 1 < n) row[c] -= u.first[k] * column[k + 1];
      if (k + 2 < n) row[c] -= u.second[k] * column[k + 2];
      size = std::max(size, std::abs(row[c]));
    }
    T pivot = u.diagonal[k];
    const R scale = divisor_scale(pivot, perturbation, size);
    for (int64_t c = 0; c < in.columns; ++c) x[c * n + k] = row[c] * scale / pivot;
  }
}

template <class T>
void solve_all(const LapackCall& call) {
  const LapackStack s = call.argument_stack(3);
  const int64_t n = s.rows;
  const T *below = call.argument<T>(0, s.batch * n), *diagonal = call.argument<T>(1, s.batch * n);
  const T* above = call.argument<T>(2, s.batch * n);
  T* x = call.copied<T>(0, 3, s.batch * s.size());
  if (n == 0) return;
  for (int64_t i = 0; i < s.batch; ++i)
    solve<T>({below + i * n, diagonal + i * n, above + i * n, n, s.cols}, x + i * s.size());
}

// (dl, d, du, b) -> x
void any_type(const LapackCall& call) {
  switch (call.arguments.empty() ? LapackType::Other : call.arguments[0].type) {
    case LapackType::F32:
      return solve_all<float>(call);
    case LapackType::F64:
      return solve_all<double>(call);
    case LapackType::C64:
      return solve_all<std::complex<float>>(call);
    case LapackType::C128:
      return solve_all<std::complex<double>>(call);
    default:
      throw Error("a system of three diagonals has elements of an unknown type");
  }
}

}  // namespace

LapackRoutine perturbed_tridiagonal_routine() { return {"tridiagonal_solve_perturbed_ffi", any_type, false}; }

}  // namespace hone
