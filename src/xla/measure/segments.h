// A program cut by the devices of its operations: one module for each piece that one device runs without waiting for another.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decisions/compile_target.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

struct Placement {
  int devices = 1;
  // Operations of the lowered program by name, in the order in which they begin, each with its device. What is not listed runs where its
  // first operand or first reader does.
  std::vector<std::pair<std::string, int>> device_of;
};

// Where a value comes from: a parameter of the program, or a result of a segment.
struct SegmentValue {
  int parameter = -1;
  int segment = -1, result = -1;
};

struct Segment {
  int device = 0;
  std::unique_ptr<xla::HloModule> module;  // lowered; all its parameters and results have descending layouts
  std::vector<SegmentValue> inputs;        // [parameters]
};

struct Segments {
  std::vector<Segment> segments;      // what one reads is of those before it
  std::vector<SegmentValue> results;  // [leaves of the program's result]
};

// Lowers the program as default XLA does and cuts it. A segment ends where another device needs one of its results, before an operation
// that begins earlier than the one that needs them but is not needed, and before an operation that waits for another device. Loops, calls
// and conditionals stay whole. Throws Error for what cannot be cut:
// operations with side effects, parameters and results that are tuples of tuples; StageError of passes.
Segments cut(const xla::HloModule& program, const CompileTarget& target, const Placement& placement);

}  // namespace hone::xla_side
