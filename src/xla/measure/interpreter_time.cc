#include "measure/interpreter_time.h"

#include <algorithm>
#include <cmath>

#include "decisions/arithmetic.h"
#include "decisions/instruction_runs.h"
#include "decisions/reducers.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using Opcode = xla::HloOpcode;
using xla::HloComputation;
using xla::HloInstruction;

// ---- reductions

constexpr int64_t kFewElements = 256;  // which take no longer one by one

bool sums_floats(const HloInstruction& reduce) {
  return reduce.operand_count() == 2 && adds(*reduce.to_apply()) &&
         xla::primitive_util::IsFloatingPointType(reduce.operand(0)->shape().element_type());
}

bool may_be_regrouped(Opcode opcode) {
  return opcode == Opcode::kAdd || opcode == Opcode::kMultiply || opcode == Opcode::kMaximum ||
         opcode == Opcode::kMinimum || opcode == Opcode::kAnd || opcode == Opcode::kOr || opcode == Opcode::kXor;
}

// Whether it combines its two parameters by one such operation. Reducers with comparisons are not associative for NaN.
bool is_one_operation(const HloComputation& reducer) {
  const HloInstruction& root = *reducer.root_instruction();
  return reducer.num_parameters() == 2 && reducer.instruction_count() == 3 && may_be_regrouped(root.opcode()) &&
         root.operand(0) != root.operand(1);
}

class Halving : Arithmetic {
 public:
  explicit Halving(HloInstruction& reduce)
      : Arithmetic(reduce.parent()), reduce_(reduce), opcode_(reduce.to_apply()->root_instruction()->opcode()) {}

  HloInstruction* whole() {
    HloInstruction* value = reduce_.mutable_operand(0);
    for (const int64_t d : reduce_.dimensions())
      while (value->shape().dimensions(d) > 1) value = halved(value, d);
    value = reshaped(value, sizes_of(&reduce_));
    return binary(opcode_, add(HloInstruction::CreateBroadcast(value->shape(), reduce_.mutable_operand(1), {})), value);
  }

 private:
  HloInstruction* every_second(HloInstruction* value, int64_t dimension, int64_t from, int64_t stride) {
    const Sizes limits = sizes_of(value);
    Sizes starts(limits.size(), 0), strides(limits.size(), 1), sizes = limits, ends = limits;
    starts[dimension] = from;
    strides[dimension] = stride;
    if (stride > 1) ends[dimension] -= limits[dimension] % 2;
    sizes[dimension] = (ends[dimension] - from + stride - 1) / stride;
    return add(HloInstruction::CreateSlice(shape_like(value, sizes), value, starts, ends, strides));
  }

  HloInstruction* halved(HloInstruction* value, int64_t dimension) {
    HloInstruction* both = binary(opcode_, every_second(value, dimension, 0, 2), every_second(value, dimension, 1, 2));
    const int64_t size = value->shape().dimensions(dimension);
    if (size % 2 == 0) return both;
    return concatenated({both, every_second(value, dimension, size - 1, 1)}, dimension);
  }

  HloInstruction& reduce_;
  const Opcode opcode_;
};

// ---- time

constexpr double kStepNs = 1000;          // of any instruction
constexpr double kReducerNs = 2200;       // of each instruction of a computation that runs for single elements
constexpr double kComparedNs = 1200;      // two elements of a sort
constexpr double kMultiplicationNs = 65;  // of a dot, with its addition
constexpr double kConvolutionNs = 5;

double elements(const xla::Shape& shape) { return shape.IsArray() ? xla::ShapeUtil::ElementsIn(shape) : 0; }

double reducer_ns(const HloComputation& reducer) {
  return kReducerNs * std::max<double>(1, reducer.instruction_count() - reducer.num_parameters());
}

double window_elements(const xla::Window& window) {
  double count = 1;
  for (const auto& dimension : window.dimensions()) count *= dimension.size();
  return count;
}

double sort_ns(const HloInstruction& sort) {
  const xla::Shape& keys = sort.operand(0)->shape();
  const double length = keys.dimensions(xla::Cast<xla::HloSortInstruction>(&sort)->sort_dimension());
  return kComparedNs * elements(keys) * std::max(1.0, std::log2(std::max(1.0, length)));
}

// Of one element of the result.
double element_ns(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kBitcast:
      return 0;
    case Opcode::kCopy:
    case Opcode::kReshape:
    case Opcode::kConcatenate:
    case Opcode::kConvert:
      return 2;
    case Opcode::kBroadcast:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      return 20;
    case Opcode::kGather:
    case Opcode::kPad:
    case Opcode::kSelect:
    case Opcode::kClamp:
      return 70;
    default:
      return 45;
  }
}

double nanoseconds(const HloInstruction& i) {
  const auto operand = [&](int64_t n) { return elements(i.operand(n)->shape()); };
  switch (i.opcode()) {
    case Opcode::kDot:
      return kMultiplicationNs / 2 *
             xla::HloCostAnalysis::GetDotFlops(i.operand(0)->shape(), i.shape(), i.dot_dimension_numbers());
    case Opcode::kConvolution:
      return kConvolutionNs / 2 *
                 xla::HloCostAnalysis::GetConvolutionFlops(&i, i.operand(0)->shape(), i.operand(1)->shape(),
                                                           i.shape()) +
             45 * elements(i.shape());
    case Opcode::kReduce:
      return (sums_floats(i) ? 10 : reducer_ns(*i.to_apply())) * operand(0);
    case Opcode::kReduceWindow: {
      const xla::Shape& result = i.shape().IsTuple() ? i.shape().tuple_shapes(0) : i.shape();
      return reducer_ns(*i.to_apply()) * elements(result) * window_elements(i.window());
    }
    case Opcode::kSelectAndScatter:
      return (kReducerNs * window_elements(i.window()) + reducer_ns(*i.scatter())) * operand(1);
    case Opcode::kScatter:
      return (600 + reducer_ns(*i.to_apply())) * operand(i.operand_count() - 1);
    case Opcode::kMap:
      return reducer_ns(*i.to_apply()) * elements(i.shape());
    case Opcode::kSort:
      return sort_ns(i);
    case Opcode::kDynamicUpdateSlice:
      return 2 * elements(i.shape()) + 40 * operand(1);
    default:
      return element_ns(i.opcode()) * elements(i.shape());
  }
}

}  // namespace

absl::Status halve_reductions(xla::HloModule& module) {
  for (HloComputation* computation : module.MakeNonfusionComputations())
    for (HloInstruction* i : computation->MakeInstructionPostOrder()) {
      if (i->opcode() != Opcode::kReduce || sums_floats(*i) || !is_one_operation(*i->to_apply())) continue;
      const xla::Shape& shape = i->operand(0)->shape();
      if (!shape.is_static() || elements(shape) < kFewElements) continue;
      if (absl::Status replaced = computation->ReplaceInstruction(i, Halving(*i).whole()); !replaced.ok())
        return replaced;
    }
  return absl::OkStatus();
}

double interpreter_seconds(const xla::HloModule& module) {
  const InstructionRuns runs = runs_of(module);
  double ns = 0;
  for (const auto& [instruction, times] : runs.runs)
    if (!runs_computations(instruction->opcode())) ns += times * (kStepNs + nanoseconds(*instruction));
  return ns / 1e9;
}

}  // namespace hone::xla_side
