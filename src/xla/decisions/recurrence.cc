#include "decisions/recurrence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "decisions/arithmetic.h"
#include "decisions/dnnl_calls.h"
#include "decisions/recurrence_step.h"
#include "decisions/typed_calls.h"
#include "kernels/recurrence.h"
#include "status.h"
#include "xla/ffi/api/ffi.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

namespace ffi = xla::ffi;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kLeastSteps = 2;

struct FoundLoop {
  RecurrentLoop loop;
  PlannedLoop planned;
};

std::optional<FoundLoop> recurrence_of(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kWhile) return {};
  auto loop = recurrent_loop_of(const_cast<HloInstruction*>(&op));
  if (!loop || loop->steps < kLeastSteps) return {};
  auto planned = planned_loop(*loop);
  if (!planned || !planned->has_dots) return {};
  return FoundLoop{std::move(*loop), std::move(*planned)};
}

class RecurrenceCall : Arithmetic {
 public:
  explicit RecurrenceCall(const FoundLoop& found)
      : Arithmetic(found.loop.loop->parent()), loop_(found.loop), planned_(found.planned) {}

  HloInstruction* build() {
    const std::vector<HloInstruction*> operands = planned_.operands.build();
    std::vector<xla::Shape> results;
    for (const LoopPart::Kind kind : {LoopPart::Carried, LoopPart::Written})
      for (size_t p = 0; p < loop_.parts.size(); ++p)
        if (loop_.parts[p].kind == kind) {
          result_of_part_.resize(loop_.parts.size(), -1);
          result_of_part_[p] = static_cast<int64_t>(results.size());
          results.push_back(in_order(loop_.loop->shape().tuple_shapes(static_cast<int>(p))));
        }
    HloInstruction* call =
        add(typed_call(kRecurrenceTarget, results.size() == 1 ? results[0] : ShapeUtil::MakeTupleShape(results),
                       operands, planned_.plan.text()));
    std::vector<HloInstruction*> state;
    for (size_t p = 0; p < loop_.parts.size(); ++p) state.push_back(part_after(static_cast<int64_t>(p), call));
    return add(HloInstruction::CreateTuple(state));
  }

 private:
  HloInstruction* part_after(int64_t part, HloInstruction* call) {
    switch (loop_.parts[part].kind) {
      case LoopPart::Kept:
        return loop_.loop->mutable_operand(0)->mutable_operand(part);
      case LoopPart::Counter: {
        const int64_t last = loop_.count.first + loop_.steps * loop_.count.step;
        const bool is_long = loop_.loop->shape().tuple_shapes(static_cast<int>(part)).element_type() == xla::S64;
        return add(HloInstruction::CreateConstant(is_long ? xla::LiteralUtil::CreateR0<int64_t>(last)
                                                          : xla::LiteralUtil::CreateR0(static_cast<int32_t>(last))));
      }
      default:
        return call->shape().IsTuple() ? add(HloInstruction::CreateGetTupleElement(call, result_of_part_[part])) : call;
    }
  }

  const RecurrentLoop& loop_;
  const PlannedLoop& planned_;
  std::vector<int64_t> result_of_part_;
};

struct CheckedRecurrence {
  explicit CheckedRecurrence(std::string_view text) : CheckedRecurrence(RecurrencePlan::from_text(text)) {}
  explicit CheckedRecurrence(const RecurrencePlan& plan)
      : operand_extents(plan.operand_extents()), result_extents(plan.result_extents()), recurrence(plan) {}
  std::vector<int64_t> operand_extents, result_extents;
  Recurrence recurrence;
};

ffi::Error run_loop(CallState<CheckedRecurrence>* state, ffi::ThreadPool pool, ffi::RemainingArgs arguments,
                    ffi::RemainingRets returned) {
  return reported([&] {
    const auto& [operand_extents, result_extents, recurrence] = state->kernel;
    std::vector<const float*> operands;
    std::vector<float*> results;
    bool fits = arguments.size() == operand_extents.size() && returned.size() == result_extents.size();
    for (size_t i = 0; fits && i < arguments.size(); ++i) {
      const auto operand = arguments.get<ffi::AnyBuffer>(i);
      fits = operand->element_type() == ffi::DataType::F32 &&
             static_cast<int64_t>(operand->element_count()) >= operand_extents[i];
      operands.push_back(static_cast<const float*>(operand->untyped_data()));
    }
    for (size_t i = 0; fits && i < returned.size(); ++i) {
      auto result = returned.get<ffi::AnyBuffer>(i);
      fits = (*result)->element_type() == ffi::DataType::F32 &&
             static_cast<int64_t>((*result)->element_count()) >= result_extents[i];
      results.push_back(static_cast<float*>((*result)->untyped_data()));
    }
    if (!fits) return ffi::Error::Internal("the arrays of a recurrent loop are not what its configuration says");
    recurrence.run(operands.data(), results.data(), static_cast<int>(pool.num_threads()), in_pool(pool));
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kRunLoop, run_loop,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::State<CallState<CheckedRecurrence>>>()
                           .Ctx<ffi::ThreadPool>()
                           .RemainingArgs()
                           .RemainingRets());

}  // namespace

bool is_recurrence(const HloInstruction& op) { return recurrence_of(op).has_value(); }

std::string recurrence_key(const HloInstruction& op) {
  const auto loop = recurrent_loop_of(const_cast<HloInstruction*>(&op));
  std::vector<std::string> shapes;
  for (const xla::Shape& shape : op.shape().tuple_shapes()) shapes.push_back(ShapeUtil::HumanString(shape));
  return absl::StrCat(loop ? loop->steps : 0, " steps:", absl::StrJoin(shapes, ","));
}

double recurrence_operations(const HloInstruction& op) {
  const auto found = recurrence_of(op);
  if (!found) return 0;
  const RecurrencePlan& plan = found->planned.plan;
  double operations = 0;
  for (const StepValue& value : plan.values) {
    const double depth = value.op == StepOp::Dot ? 2.0 * static_cast<double>(plan.values[value.of[0]].columns) : 1;
    operations += depth * static_cast<double>(plan.rows * value.columns);
  }
  return operations * static_cast<double>(plan.steps);
}

HloInstruction* recurrence_by_kernel(HloInstruction* op) {
  const auto found = recurrence_of(*op);
  if (!found) throw Error("not a recurrent loop that a kernel can run", std::string(op->name()));
  register_typed_call<CheckedRecurrence>(kRecurrenceTarget, kRunLoop);
  return RecurrenceCall(*found).build();
}

void finish_recurrences(xla::HloModule& module, const std::vector<int>& weights) {
  for (auto* computation : module.computations())
    for (auto* instruction : computation->instructions()) {
      if (!instruction->IsCustomCall(kRecurrenceTarget)) continue;
      RecurrencePlan plan = RecurrencePlan::from_text(plan_of_attribute(instruction->raw_backend_config_string()));
      plan.steady = std::all_of(plan.values.begin(), plan.values.end(), [&](const StepValue& value) {
        return value.op != StepOp::Dot || is_made_of(instruction->operand(value.array.array), weights);
      });
      instruction->set_raw_backend_config_string(plan_attribute(plan.text()));
    }
}

}  // namespace hone::xla_side
