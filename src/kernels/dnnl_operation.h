// An operation that oneDNN was asked for once and computes many times.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/dnnl_plan.h"
#include "kernels/for_each.h"

namespace hone {

class DnnlOperation {
 public:
  // Throws Error where the library is absent or has no fast kernel for the operation.
  explicit DnnlOperation(const DnnlPlan& plan);
  ~DnnlOperation();

  // Input, weights, and the operands of the steps that have one, in their order; f32, except weights of `weights_type`. Calls
  // wait for each other.
  void run(const void* const* arguments, size_t count, void* result, const ForEach& for_each);
  const char* kernel_name() const;  // as oneDNN calls it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
