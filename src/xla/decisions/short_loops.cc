#include "decisions/short_loops.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decisions/arithmetic.h"
#include "status.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/call_inliner.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kMostUnrolled = 8, kMostInstructions = 300;

// What cannot become part of a loop over elements, or may have effects.
bool stays_apart(const HloInstruction& op) {
  switch (op.opcode()) {
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
    case HloOpcode::kCustomCall:
    case HloOpcode::kSort:
    case HloOpcode::kFft:
    case HloOpcode::kScatter:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kFusion:
      return true;
    default:
      return op.HasSideEffect();
  }
}

// The instructions of a step, those of called computations too; none where some must stay a loop of its own.
std::optional<int64_t> instructions_of(const xla::HloComputation& step) {
  int64_t count = 0;
  for (const HloInstruction* op : step.instructions()) {
    if (stays_apart(*op)) return {};
    ++count;
    if (op->opcode() != HloOpcode::kCall) continue;
    const auto inner = instructions_of(*op->to_apply());
    if (!inner) return {};
    count += *inner;
  }
  return count;
}

std::optional<int64_t> steps_of(const HloInstruction& loop) {
  const auto counter = xla::GetLoopInductionVarTupleIdx(&loop);
  const HloInstruction& state = *loop.operand(0);
  if (!counter || state.opcode() != HloOpcode::kTuple) return {};
  const HloInstruction* first = state.operand(*counter);
  while (first->opcode() == HloOpcode::kCopy) first = first->operand(0);
  if (first->opcode() != HloOpcode::kConstant) return {};
  return xla::MatchTrivialLoopTripCount(&loop, *counter, first->literal());
}

class Unrolled : Arithmetic {
 public:
  explicit Unrolled(HloInstruction* loop) : Arithmetic(loop->parent()), loop_(loop) {}

  HloInstruction* build(int64_t steps) {
    std::vector<HloInstruction*> calls;
    HloInstruction* state = loop_->mutable_operand(0);
    for (int64_t i = 0; i < steps; ++i)
      calls.push_back(state = add(HloInstruction::CreateCall(loop_->shape(), {state}, loop_->while_body())));
    std::vector<HloInstruction*> values;
    for (int64_t i = 0; i < ShapeUtil::TupleElementCount(loop_->shape()); ++i)
      values.push_back(add(HloInstruction::CreateGetTupleElement(state, i)));
    HloInstruction* result = add(HloInstruction::CreateTuple(values));
    for (HloInstruction* call : calls) check(xla::CallInliner::Inline(call).status(), "unrolling");
    return result;
  }

 private:
  HloInstruction* loop_;
};

}  // namespace

bool is_short_loop(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kWhile || !op.shape().IsTuple()) return false;
  const auto instructions = instructions_of(*op.while_body());
  if (!instructions || *instructions > kMostInstructions) return false;
  const auto steps = steps_of(op);
  return steps && *steps >= 2 && *steps <= kMostUnrolled;
}

std::string loop_key(const HloInstruction& op) {
  return absl::StrCat(*steps_of(op), " steps:", ShapeUtil::HumanString(op.shape()));
}

HloInstruction* unrolled_loop(HloInstruction* op) {
  if (!is_short_loop(*op)) throw Error("not a loop of a few steps", std::string(op->name()));
  return Unrolled(op).build(*steps_of(*op));
}

}  // namespace hone::xla_side
