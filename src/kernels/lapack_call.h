// Calls of LAPACK from a program, as JAX writes them: stacks of matrices, and attributes.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lapack_library.h"

namespace hone {

enum class LapackType { F32, F64, C64, C128, S32, Other };

template <class T>
constexpr LapackType kLapackType = LapackType::Other;
template <>
inline constexpr LapackType kLapackType<float> = LapackType::F32;
template <>
inline constexpr LapackType kLapackType<double> = LapackType::F64;
template <>
inline constexpr LapackType kLapackType<std::complex<float>> = LapackType::C64;
template <>
inline constexpr LapackType kLapackType<std::complex<double>> = LapackType::C128;
template <>
inline constexpr LapackType kLapackType<int32_t> = LapackType::S32;

// An argument or a result. The two last dimensions of a matrix lie column by column, those before them row-major.
struct LapackArray {
  void* data = nullptr;
  LapackType type = LapackType::Other;
  std::vector<int64_t> dims;

  int64_t count() const;
};

// A stack of matrices.
struct LapackStack {
  int64_t batch = 0, rows = 0, cols = 0;

  int64_t size() const { return rows * cols; }          // elements of one matrix
  int64_t lead() const { return rows > 0 ? rows : 1; }  // LAPACK's leading dimension
  int64_t smaller() const { return rows < cols ? rows : cols; }
};

struct LapackCall {
  std::vector<LapackArray> arguments, results;         // a result may lie where the argument lies that it replaces
  std::function<int64_t(std::string_view)> attribute;  // throws Error for one that is missing
  const LapackLibrary* library = nullptr;
  int threads = 1;

  char letter(std::string_view name) const { return static_cast<char>(attribute(name)); }
  // The matrices of an argument or result. Throws Error for less than two dimensions.
  LapackStack argument_stack(size_t i) const;
  LapackStack result_stack(size_t i) const;
  // The elements; throws Error where the array is of another type or does not have `count` elements. Those of an argument may be
  // read by another operation at the same time: nothing is written there, not even to be put back.
  template <class T>
  const T* argument(size_t i, int64_t count) const {
    return static_cast<const T*>(elements(arguments, i, kLapackType<T>, count));
  }
  template <class T>
  T* result(size_t i, int64_t count) const {
    return static_cast<T*>(elements(results, i, kLapackType<T>, count));
  }
  // Result `to` holds a copy of argument `from` first, which routines overwrite.
  template <class T>
  T* copied(size_t to, size_t from, int64_t count) const {
    T* target = result<T>(to, count);
    const T* source = argument<T>(from, count);
    if (target != source) std::copy_n(source, count, target);
    return target;
  }

 private:
  static void* elements(const std::vector<LapackArray>& arrays, size_t i, LapackType type, int64_t count);
};

// A custom call that JAX makes, and what computes it.
struct LapackRoutine {
  std::string target;  // "lapack_spotrf_ffi"
  void (*run)(const LapackCall&);
  bool needs_library = true;
};

// All that jaxlib has. Each throws Error for arguments that do not fit.
const std::vector<LapackRoutine>& lapack_routines();

// Its parts: factorisations and systems of equations; eigenvalues; singular values; a system of three diagonals without a library.
std::vector<LapackRoutine> lapack_factor_routines();
std::vector<LapackRoutine> lapack_eigenvalue_routines();
std::vector<LapackRoutine> lapack_singular_value_routines();
LapackRoutine perturbed_tridiagonal_routine();

// Rows for the four types of elements; LAPACK names some routines of real and of complex numbers differently.
#define HONE_LAPACK_ROWS(real_name, complex_name, function)                                        \
  {"lapack_s" real_name "_ffi", function<float>}, {"lapack_d" real_name "_ffi", function<double>}, \
      {"lapack_c" complex_name "_ffi", function<std::complex<float>>}, {                           \
    "lapack_z" complex_name "_ffi", function<std::complex<double>>                                 \
  }

template <class T>
struct LapackElement {
  using Real = T;
  static constexpr bool is_complex = false;
  static constexpr char prefix = sizeof(T) == 4 ? 's' : 'd';
};
template <class R>
struct LapackElement<std::complex<R>> {
  using Real = R;
  static constexpr bool is_complex = true;
  static constexpr char prefix = sizeof(R) == 4 ? 'c' : 'z';
};

// The library's routine for elements of type T.
template <class T>
LapackFunction lapack_function(const LapackCall& call, const char* real, const char* complex) {
  using Element = LapackElement<T>;
  return LapackFunction(*call.library, Element::prefix + std::string(Element::is_complex ? complex : real));
}

// As many elements as a routine wants, by its answer to a query: `ask(work, size)` calls it with size -1.
template <class T, class Ask>
std::vector<T> lapack_workspace(const Ask& ask, int64_t least = 1) {
  T wanted{};
  int64_t query = -1;
  ask(&wanted, &query);
  return std::vector<T>(std::max<int64_t>(static_cast<int64_t>(std::real(wanted)), least));
}

}  // namespace hone
