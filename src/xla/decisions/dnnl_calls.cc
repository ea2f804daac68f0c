#include "decisions/dnnl_calls.h"

#include "decisions/arithmetic.h"
#include "decisions/typed_calls.h"
#include "kernels/dnnl_operation.h"
#include "status.h"
#include "xla/ffi/api/ffi.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

namespace ffi = xla::ffi;
using xla::HloInstruction;
using xla::HloOpcode;

struct DnnlCall {
  explicit DnnlCall(std::string_view plan) : operation(DnnlPlan::from_text(plan)) {}
  DnnlOperation operation;
};

ffi::Error execute(CallState<DnnlCall>* state, ffi::ThreadPool pool, ffi::RemainingArgs arguments,
                   ffi::Result<ffi::AnyBuffer> result) {
  return reported([&] {
    std::vector<const void*> data;
    for (size_t i = 0; i < arguments.size(); ++i) data.push_back(arguments.get<ffi::AnyBuffer>(i)->untyped_data());
    state->kernel.operation.run(data.data(), data.size(), result->untyped_data(), in_pool(pool));
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kExecute, execute,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::State<CallState<DnnlCall>>>()
                           .Ctx<ffi::ThreadPool>()
                           .RemainingArgs()
                           .Ret<ffi::AnyBuffer>());

DnnlPlan plan_of(const HloInstruction& call) {
  return DnnlPlan::from_text(plan_of_attribute(call.raw_backend_config_string()));
}

// 3 x 3 times 3 x 3 of whole numbers, which every order of sums gives the same.
bool computes() {
  DnnlPlan plan;
  plan.input = plan.weights = plan.output = {{3, 3}, {3, 1}};
  plan.post_ops = {{"add", PostOperand::Channel}, {"relu"}};
  try {
    DnnlOperation operation(plan);
    const float left[] = {1, 2, 3, 4, 5, 6, 7, 8, -9}, right[] = {1, 0, -1, 2, 1, 0, 1, 3, -1}, bias[] = {0, -20, 4};
    const float expected[] = {8, 0, 0, 20, 3, 0, 14, 0, 6};
    float result[9] = {};
    const void* arguments[] = {left, right, bias};
    operation.run(arguments, 3, result, {});
    return std::equal(result, result + 9, expected);
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

bool has_dnnl() {
  static const bool has = computes();
  return has;
}

DnnlArray dnnl_array(const xla::Shape& shape, const std::vector<int64_t>& order) {
  const std::vector<int64_t> strides = dense_strides(shape);
  DnnlArray array;
  for (const int64_t d : order) {
    array.sizes.push_back(shape.dimensions(d));
    array.strides.push_back(strides[d]);
  }
  return array;
}

HloInstruction* dnnl_call(xla::HloComputation* computation, const xla::Shape& result, const DnnlPlan& plan,
                          const std::vector<HloInstruction*>& operands) {
  register_typed_call<DnnlCall>(kDnnlTarget, kExecute);
  return computation->AddInstruction(typed_call(kDnnlTarget, in_order(result), operands, plan.text()));
}

namespace {

// What a loop was given for a part of its state that its steps hand on as it is; null for any other value.
const HloInstruction* before_loop(const HloInstruction* value) {
  if (value->opcode() != HloOpcode::kGetTupleElement || value->operand(0)->opcode() != HloOpcode::kParameter)
    return nullptr;
  const auto loop = value->parent()->GetUniqueCaller(HloOpcode::kWhile);
  if (!loop || (*loop)->while_body() != value->parent()) return nullptr;
  const HloInstruction *next = value->parent()->root_instruction(), *first = (*loop)->operand(0);
  const int64_t part = value->tuple_index();
  if (next->opcode() != HloOpcode::kTuple || first->opcode() != HloOpcode::kTuple) return nullptr;
  const HloInstruction* kept = next->operand(part);
  const bool same = kept->opcode() == HloOpcode::kGetTupleElement && kept->operand(0) == value->operand(0) &&
                    kept->tuple_index() == part;
  return same ? first->operand(part) : nullptr;
}

}  // namespace

bool is_made_of(const HloInstruction* value, const std::vector<int>& parameters) {
  std::vector<const HloInstruction*> left = {value};
  std::set<const HloInstruction*> seen;
  while (!left.empty()) {
    const HloInstruction* one = left.back();
    left.pop_back();
    if (!seen.insert(one).second) continue;
    if (const HloInstruction* before = before_loop(one)) {
      left.push_back(before);
      continue;
    }
    if (one->opcode() == HloOpcode::kParameter) {
      const bool declared = std::count(parameters.begin(), parameters.end(), one->parameter_number()) > 0;
      if (!one->parent()->IsEntryComputation() || !declared) return false;
    }
    if (one->HasSideEffect() || one->opcode() == HloOpcode::kRng || one->opcode() == HloOpcode::kRngBitGenerator)
      return false;
    for (const HloInstruction* operand : one->operands()) left.push_back(operand);
  }
  return true;
}

void finish_dnnl_calls(xla::HloModule& module, const CompileTarget& target) {
  for (auto* computation : module.computations())
    for (auto* instruction : computation->instructions()) {
      if (!instruction->IsCustomCall(kDnnlTarget)) continue;
      DnnlPlan plan = plan_of(*instruction);
      plan.threads = target.threads;
      plan.steady = is_made_of(instruction->operand(1), target.weights);
      plan.scaled = plan.steady && !plan.post_ops.empty() && plan.post_ops[0].name == "mul" &&
                    plan.post_ops[0].operand == PostOperand::Channel &&
                    is_made_of(instruction->operand(2), target.weights);
      instruction->set_raw_backend_config_string(plan_attribute(plan.text()));
    }
}

}  // namespace hone::xla_side
