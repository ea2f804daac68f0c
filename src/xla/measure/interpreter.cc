#include "measure/interpreter.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "decisions/instruction_runs.h"
#include "status.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/transforms/while_loop_trip_count_annotator.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {
constexpr double kEvaluatorFlops = 2e7;  // HloEvaluator runs at about 10 MFLOP/s
constexpr double kBytesOfNumber = 4;
constexpr int64_t kMostSteps = 10000;  // of a loop

// Floating-point operations, and numbers moved if `with_data`, of all steps of loops whose number XLA knows: its own analysis counts one.
// Nothing where it does not know an operation.
std::optional<double> work_of(xla::HloModule& program, bool with_data) {
  xla::HloCostAnalysis cost([](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  if (!xla::WhileLoopTripCountAnnotator().Run(&program).ok()) return std::nullopt;
  if (!program.entry_computation()->Accept(&cost).ok()) return std::nullopt;
  const InstructionRuns runs = runs_of(program);
  double work = 0;
  for (const auto* computation : program.MakeNonfusionComputations())
    for (const auto* instruction : computation->instructions()) {
      if (runs_computations(instruction->opcode()) || runs.of(*instruction) == 0) continue;
      const double moved = with_data ? cost.bytes_accessed(*instruction) / kBytesOfNumber : 0;
      work += runs.of(*instruction) * (cost.flop_count(*instruction) + moved);
    }
  return work;
}

}  // namespace

Interpreted interpret(const xla::HloModule& program, const std::vector<xla::Literal>& inputs, bool with_data) {
  auto clone = program.Clone("");
  const std::optional<double> work = work_of(*clone, with_data);
  if (!work) return {{}, "XLA does not know its operations"};
  if (*work > kEvaluatorFlops)
    return {{}, absl::StrFormat("too large: %.3g operations, of at most %.3g", *work, kEvaluatorFlops)};
  std::vector<const xla::Literal*> arguments;
  for (const auto& literal : inputs) arguments.push_back(&literal);
  xla::HloEvaluator evaluator(kMostSteps);
  auto result = evaluator.Evaluate(*clone, arguments);
  if (!result.ok()) return {{}, std::string(result.status().message())};
  Interpreted found;
  xla::ShapeUtil::ForEachSubshape(result->shape(), [&](const xla::Shape& sub, const xla::ShapeIndex& index) {
    if (!sub.IsArray()) return;
    xla::Literal leaf(xla::ShapeUtil::MakeShapeWithDescendingLayout(sub.element_type(), sub.dimensions()));
    check(leaf.CopyFrom(*result, {}, index), "evaluator");
    found.outputs.push_back(std::move(leaf));
  });
  return found;
}

}  // namespace hone::xla_side
