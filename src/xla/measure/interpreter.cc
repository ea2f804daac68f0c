#include "measure/interpreter.h"

#include "absl/strings/str_format.h"
#include "measure/interpreter_time.h"
#include "status.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/transforms/while_loop_trip_count_annotator.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {
constexpr double kMostSeconds = 3;
constexpr int64_t kMostSteps = 10000;  // of a loop

absl::StatusOr<std::unique_ptr<xla::HloModule>> made_ready(const xla::HloModule& program) {
  auto clone = program.Clone("");
  if (auto counted = xla::WhileLoopTripCountAnnotator().Run(clone.get()); !counted.ok()) return counted.status();
  if (absl::Status halved = halve_reductions(*clone); !halved.ok()) return halved;
  return clone;
}

}  // namespace

double seconds_to_interpret(const xla::HloModule& program) {
  const auto ready = made_ready(program);
  const double seconds = ready.ok() ? interpreter_seconds(**ready) : 0;
  return seconds > kMostSeconds ? 0 : seconds;
}

Interpreted interpret(const xla::HloModule& program, const std::vector<xla::Literal>& inputs) {
  const auto ready = made_ready(program);
  if (!ready.ok()) return {{}, std::string(ready.status().message())};
  const double seconds = interpreter_seconds(**ready);
  if (seconds > kMostSeconds)
    return {{}, absl::StrFormat("too large: %.2g seconds, of at most %.2g", seconds, kMostSeconds)};
  std::vector<const xla::Literal*> arguments;
  for (const auto& literal : inputs) arguments.push_back(&literal);
  xla::HloEvaluator evaluator(kMostSteps);
  auto result = evaluator.Evaluate(**ready, arguments);
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
