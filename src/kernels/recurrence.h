// Recurrent loops, as of LSTM and GRU cells: all steps in one call.
#pragma once

#include <memory>

#include "kernels/for_each.h"
#include "kernels/recurrence_plan.h"

namespace hone {

// The one of the widest vectors that the machine has.
const RecurrenceKernel& widest_recurrence_kernel();

class Recurrence {
 public:
  explicit Recurrence(RecurrencePlan plan, const RecurrenceKernel& kernel = widest_recurrence_kernel());
  ~Recurrence();
  Recurrence(const Recurrence&) = delete;
  Recurrence& operator=(const Recurrence&) = delete;

  // Computes all steps. Results that no step writes stay as they are. Several threads share the columns of each step; those of
  // `for_each` may come late or never. May be called by several threads at the same time.
  void run(const float* const* operands, float* const* results, int threads, const ForEach& for_each) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
