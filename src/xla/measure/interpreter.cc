#include "measure/interpreter.h"

#include "absl/strings/str_format.h"
#include "measure/interpreter_time.h"
#include "status.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/transforms/while_loop_trip_count_annotator.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {
constexpr int64_t kMostSteps = 10000;  // of a loop

std::unique_ptr<xla::HloModule> made_ready(const xla::HloModule& program) {
  auto clone = program.Clone("");
  check(xla::WhileLoopTripCountAnnotator().Run(clone.get()).status(), "trip counts");
  halve_reductions(*clone);
  return clone;
}

}  // namespace

double seconds_to_interpret(const xla::HloModule& program) {
  const double seconds = interpreter_seconds(*made_ready(program));
  return seconds > kMostInterpreterSeconds ? 0 : seconds;
}

Interpreted interpret(const xla::HloModule& program, const std::vector<xla::Literal>& inputs, double most_seconds) {
  const auto clone = made_ready(program);
  const double seconds = interpreter_seconds(*clone);
  if (seconds > most_seconds)
    return {{}, absl::StrFormat("too large: %.2g seconds, of at most %.2g", seconds, most_seconds)};
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
