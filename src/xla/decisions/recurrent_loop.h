// Loops of a known number of steps, and what they do with each part of their state.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// An index that changes by the same from step to step.
struct StepIndex {
  int64_t first = 0, step = 0;
};

struct LoopPart {
  enum Kind : uint8_t {
    Kept,     // all steps find what the loop was given
    Counter,  // a whole number that a constant is added to
    Written,  // each step writes one part of an array, and together they write all of it
    Carried,  // anything else
  };
  Kind kind = Carried;
  xla::HloInstruction* next =
      nullptr;  // in the step: what the part becomes; Written: what is written, of one element along `dimension`
  int64_t dimension = -1;  // Written: that the steps go along, or -1 if there is one step
  StepIndex index;         // Written: in that dimension
};

struct RecurrentLoop {
  xla::HloInstruction* loop = nullptr;
  int64_t steps = 0;
  int64_t counter = 0;  // which part
  StepIndex count;      // its values
  std::vector<LoopPart> parts;
};

// nullopt where the number of steps is not known before, or a step may have effects.
std::optional<RecurrentLoop> recurrent_loop_of(xla::HloInstruction* loop);

// The value behind tuples that are made and taken apart again.
xla::HloInstruction* untupled(xla::HloInstruction* value);

// The part of the state that a value of the step is, before it changes; -1: none.
int64_t part_of(const RecurrentLoop& loop, const xla::HloInstruction* value);

// Where the slice of a dynamic-slice or dynamic-update-slice begins.
struct SteppedSlice {
  int64_t dimension = -1;  // the one that does not have all its elements, but one; -1: none
  StepIndex index;
};
// nullopt where it is another slice, or not all steps' indices are within the array. `first_index`: the operand.
std::optional<SteppedSlice> stepped_slice(const RecurrentLoop& loop, const xla::HloInstruction& op,
                                          const xla::Shape& slice, int first_index);

}  // namespace hone::xla_side
