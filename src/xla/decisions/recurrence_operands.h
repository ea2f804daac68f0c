// What a kernel that runs a whole loop reads: values that no step changes, and dots of all steps at once.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "decisions/arithmetic.h"
#include "decisions/recurrent_loop.h"
#include "kernels/recurrence_plan.h"

namespace hone::xla_side {

// A matrix within a value that no step changes: the dimensions that are summed over and that the columns are, and its first row.
struct MatrixSide {
  xla::HloInstruction* value = nullptr;
  int64_t depth = -1, columns = -1, first = 0, count = 0;
};

// Operands before there are any: planning changes nothing in the program.
class RecurrenceOperands {
 public:
  explicit RecurrenceOperands(const RecurrentLoop& loop) : loop_(loop) {}

  // Whether a value of the step is the same in all steps, and may be computed before the loop. False for what hundreds of operations,
  // one of the other, compute.
  bool is_kept(xla::HloInstruction* value);

  // The number of the operand that is a kept value as f32.
  int64_t kept(xla::HloInstruction* value);
  // Of what the loop is given for a part of its state.
  int64_t given(int64_t part);
  // Of the dot of a kept value's dimension `contracted` with a matrix. Its dimensions are the value's others, then the columns.
  int64_t dot(xla::HloInstruction* value, int64_t contracted, const MatrixSide& matrix,
              const xla::PrecisionConfig& precision);

  // Adds the operands to the computation that the loop is in.
  std::vector<xla::HloInstruction*> build() const;

 private:
  struct Operand {
    xla::HloInstruction* value = nullptr;  // of the step, kept
    int64_t part = -1;                     // or a part of the state
    int64_t contracted = -1;               // of a dot
    MatrixSide matrix = {};
    xla::PrecisionConfig precision = {};
  };
  using Key = std::tuple<const xla::HloInstruction*, int64_t, int64_t, const xla::HloInstruction*, int64_t, int64_t>;

  int64_t number_of(Operand operand);

  RecurrentLoop loop_;
  std::vector<Operand> operands_;
  std::map<Key, int64_t> numbers_;
  std::map<const xla::HloInstruction*, bool> is_kept_;
  int depth_ = 0;  // of values within is_kept()
};

}  // namespace hone::xla_side
