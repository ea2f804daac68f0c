// What a recurrent loop computes: a small program of dots and element-wise operations, which every step runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/recurrence_tiles.h"

namespace hone {

// Where a value of [rows, columns] lies in an operand or a result: its number, the place in the first step, and strides from step to
// step, row to row and column to column, in elements. A stride of 0: the same for all of them.
struct LoopArray {
  int64_t array = 0, first = 0, step = 0, row = 0, column = 0;
};

// One value of a step, [rows, columns].
struct StepValue {
  StepOp op = StepOp::Number;
  int64_t columns = 0;
  std::array<int64_t, 3> of = {-1, -1, -1};  // the values it is made of, which stand before it
  int64_t state = 0, from = 0;               // Carried: which, and its first column
  LoopArray array;                           // Read; Dot: the right side, whose rows are what is summed over
  float number = 0;                          // Number
};

// What a step hands to the next one.
struct CarriedState {
  int64_t columns = 0;
  int64_t next = 0;  // the value that it becomes
  LoopArray start;   // an operand
  LoopArray end;     // a result: after the last step
};

// A value that every step writes.
struct WrittenValue {
  int64_t value = 0;
  LoopArray array;  // a result
};

// All of f32. As text it is the configuration of a custom call.
struct RecurrencePlan {
  int64_t steps = 0, rows = 0;
  bool steady =
      false;  // the right sides of dots change only where weights_changed() is called: they are brought into order once
  std::vector<StepValue> values;
  std::vector<CarriedState> states;
  std::vector<WrittenValue> written;

  std::string text() const;
  // Throws Error for what text() does not write, or values and arrays that do not fit together.
  static RecurrencePlan from_text(std::string_view text);
  // Whether values, states and arrays fit together and are of a size that can be computed.
  bool fits() const;
  // How many elements each operand and each result must have.
  std::vector<int64_t> operand_extents() const;
  std::vector<int64_t> result_extents() const;
};

}  // namespace hone
