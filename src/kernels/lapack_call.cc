#include "kernels/lapack_call.h"

#include <numeric>

#include "base/error.h"

namespace hone {
namespace {

LapackStack stack_of(const LapackArray& array) {
  const size_t rank = array.dims.size();
  if (rank < 2) throw Error("a call of LAPACK has no matrix where it needs one");
  LapackStack stack{1, array.dims[rank - 2], array.dims[rank - 1]};
  for (size_t i = 0; i + 2 < rank; ++i) stack.batch *= array.dims[i];
  return stack;
}

const LapackArray& at(const std::vector<LapackArray>& arrays, size_t i) {
  if (i >= arrays.size()) throw Error("a call of LAPACK has too few arrays");
  return arrays[i];
}

}  // namespace

int64_t LapackArray::count() const {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

LapackStack LapackCall::argument_stack(size_t i) const { return stack_of(at(arguments, i)); }
LapackStack LapackCall::result_stack(size_t i) const { return stack_of(at(results, i)); }

void* LapackCall::elements(const std::vector<LapackArray>& arrays, size_t i, LapackType type, int64_t count) {
  const LapackArray& array = at(arrays, i);
  if (array.type != type) throw Error("an array of a call of LAPACK has another type of elements than the routine");
  if (array.count() != count) throw Error("an array of a call of LAPACK has another size than the routine needs");
  return array.data;
}

const std::vector<LapackRoutine>& lapack_routines() {
  static const std::vector<LapackRoutine> all = [] {
    std::vector<LapackRoutine> routines = lapack_factor_routines();
    for (const auto& part : {lapack_eigenvalue_routines(), lapack_singular_value_routines()})
      routines.insert(routines.end(), part.begin(), part.end());
    routines.push_back(perturbed_tridiagonal_routine());
    return routines;
  }();
  return all;
}

}  // namespace hone
