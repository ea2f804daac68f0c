#include "measure/interpreter.h"

#include "absl/strings/str_format.h"
#include "status.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {
constexpr double kEvaluatorFlops = 2e7;  // HloEvaluator runs at about 10 MFLOP/s
constexpr double kBytesOfNumber = 4;
constexpr int64_t kMostSteps = 10000;  // of a loop
}  // namespace

Interpreted interpret(const xla::HloModule& program, const std::vector<xla::Literal>& inputs, bool with_data) {
  xla::HloCostAnalysis cost([](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  if (!program.entry_computation()->Accept(&cost).ok()) return {{}, "XLA does not know its operations"};
  const double moved = with_data ? cost.bytes_accessed() / kBytesOfNumber : 0;
  if (cost.flop_count() + moved > kEvaluatorFlops)
    return {{},
            absl::StrFormat("too large: %.3g operations, of at most %.3g", cost.flop_count() + moved, kEvaluatorFlops)};
  std::vector<const xla::Literal*> arguments;
  for (const auto& literal : inputs) arguments.push_back(&literal);
  xla::HloEvaluator evaluator(kMostSteps);
  auto clone = program.Clone("");
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
