#include "decisions/attention_blocks.h"

#include <numeric>

#include "decisions/arithmetic.h"
#include "decisions/dot_roles.h"
#include "decisions/softmax_scores.h"
#include "decisions/typed_calls.h"
#include "decisions/window_slices.h"
#include "kernels/attention.h"
#include "status.h"
#include "xla/ffi/api/ffi.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

namespace ffi = xla::ffi;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;
using DimensionList = std::vector<int64_t>;

constexpr int64_t kLeastQueries = 8;  // keys and values are brought into order once for all of them

// An operand of a dot, its dimensions in the order of the scores', and the one that only it has.
struct DotSide {
  HloInstruction* value;
  DimensionList of_scores;  // -1 where it does not change along a dimension of the scores
  int64_t own = -1;         // contracted with the other operand, or not among the scores' dimensions
};

struct AttentionParts {
  int weights = 0;  // the operand of the second dot that the softmax is
  SoftmaxScores softmax;
  DotSide query, key, value;
  int64_t queries = -1;  // of the scores' dimensions
};

// Where the dimensions of a dot's operand are in its result.
DimensionList places_in_result(const xla::Shape& operand, const DotRoles& roles, int64_t first_free) {
  DimensionList places(operand.dimensions().size(), -1);
  for (size_t i = 0; i < roles.batch.size(); ++i) places[roles.batch[i]] = static_cast<int64_t>(i);
  for (size_t i = 0; i < roles.free.size(); ++i) places[roles.free[i]] = first_free + static_cast<int64_t>(i);
  return places;
}

DotSide side_of(HloInstruction* operand, const DotRoles& roles, int64_t first_free,
                const DimensionList& result_of_scores) {
  DotSide side{operand, DimensionList(result_of_scores.size(), -1), roles.contracting[0]};
  const DimensionList places = places_in_result(operand->shape(), roles, first_free);
  for (size_t d = 0; d < result_of_scores.size(); ++d)
    for (size_t own = 0; own < places.size(); ++own)
      if (places[own] >= 0 && places[own] == result_of_scores[d]) side.of_scores[d] = static_cast<int64_t>(own);
  return side;
}

// Both sides of the dot that makes the scores; false where their roles are others.
bool find_sides(const TracedValue& scores, int64_t keys, DotSide& query, DotSide& key) {
  HloInstruction* dot = scores.value;
  const DotRoles l = left_roles(*dot), r = right_roles(*dot);
  if (l.contracting.size() != 1) return false;
  const auto batch = static_cast<int64_t>(l.batch.size());
  const DotSide left = side_of(dot->mutable_operand(0), l, batch, scores.dimensions),
                right =
                    side_of(dot->mutable_operand(1), r, batch + static_cast<int64_t>(l.free.size()), scores.dimensions);
  const bool keys_are_left = left.of_scores[keys] >= 0;
  if (keys_are_left == (right.of_scores[keys] >= 0)) return false;
  query = keys_are_left ? right : left;
  key = keys_are_left ? left : right;
  return true;
}

DotRoles roles_of(const HloInstruction& dot, int operand) { return operand == 0 ? left_roles(dot) : right_roles(dot); }

DotSide value_side(HloInstruction* dot, int weights) {
  const DotRoles p = roles_of(*dot, weights), v = roles_of(*dot, 1 - weights);
  const auto rank = dot->operand(weights)->shape().dimensions().size();
  DotSide side{dot->mutable_operand(1 - weights), DimensionList(rank, -1), v.free[0]};
  for (size_t i = 0; i < p.batch.size(); ++i) side.of_scores[p.batch[i]] = v.batch[i];
  side.of_scores[p.contracting[0]] = v.contracting[0];
  return side;
}

bool of_f32(const HloInstruction* value) { return value->shape().element_type() == xla::F32; }

std::optional<AttentionParts> attention_in_blocks_of(HloInstruction* dot) {
  if (dot->opcode() != HloOpcode::kDot || dot->parent()->IsFusionComputation() || !has_elements(*dot) || !of_f32(dot))
    return std::nullopt;
  const int weights = dot->operand(0)->opcode() == HloOpcode::kDivide ? 0 : 1;
  HloInstruction* quotient = dot->mutable_operand(weights);
  const DotRoles p = roles_of(*dot, weights), v = roles_of(*dot, 1 - weights);
  if (quotient->opcode() != HloOpcode::kDivide || quotient->user_count() != 1 || p.contracting.size() != 1 ||
      v.free.size() != 1 || !of_f32(dot->operand(1 - weights)))
    return std::nullopt;
  std::optional<SoftmaxScores> softmax = softmax_scores(quotient, p.contracting[0]);
  if (!softmax) return std::nullopt;
  const HloInstruction& scores = *softmax->dot.value;
  if (scores.user_count() != 1 || !has_elements(scores) || !of_f32(&scores) || !of_f32(scores.operand(0)) ||
      !of_f32(scores.operand(1)))
    return std::nullopt;
  AttentionParts found{weights, *softmax, {}, {}, value_side(dot, weights)};
  if (!find_sides(found.softmax.dot, softmax->keys, found.query, found.key)) return std::nullopt;
  // Rows of scores that share keys and values.
  const auto& sizes = quotient->shape().dimensions();
  for (const int64_t d : p.free)
    if (found.query.of_scores[d] >= 0 && found.key.of_scores[d] < 0 && sizes[d] >= kLeastQueries &&
        (found.queries < 0 || sizes[d] >= sizes[found.queries]))
      found.queries = d;
  if (found.queries < 0) return std::nullopt;
  return found;
}

class AttentionCall : Arithmetic {
 public:
  AttentionCall(HloInstruction* dot, AttentionParts found)
      : Arithmetic(dot->parent()), dot_(dot), found_(std::move(found)), scores_(dot->operand(found_.weights)->shape()) {
    for (int64_t d = 0; d < static_cast<int64_t>(scores_.dimensions().size()); ++d)
      if (d != found_.queries && d != found_.softmax.keys) batch_.push_back(d);
  }

  HloInstruction* build() {
    for (const int64_t d : batch_) plan_.batch.push_back(scores_.dimensions(d));
    plan_.queries = scores_.dimensions(found_.queries);
    plan_.keys = scores_.dimensions(found_.softmax.keys);
    plan_.depth = found_.query.value->shape().dimensions(found_.query.own);
    plan_.features = found_.value.value->shape().dimensions(found_.value.own);
    plan_.query = side(found_.query, found_.queries);
    plan_.key = side(found_.key, found_.softmax.keys);
    plan_.value = side(found_.value, found_.softmax.keys, /*scaled=*/false);
    for (const TracedStep& step : found_.softmax.steps) add_step(step);
    return called();
  }

 private:
  AttentionArray array(const xla::Shape& shape, const DimensionList& of_scores, int64_t row, int64_t column) const {
    const DimensionList strides = dense_strides(shape);
    const auto stride = [&](int64_t d) { return d < 0 ? 0 : strides[d]; };
    AttentionArray found{{}, stride(of_scores[row]), stride(column)};
    for (const int64_t d : batch_) found.batch.push_back(stride(of_scores[d]));
    return found;
  }

  // Operands are read through transposes where they lie.
  AttentionArray side(const DotSide& side, int64_t row, bool scaled = true) {
    TracedValue value = itself(side.value);
    value = traced(std::move(value), scaled);
    plan_.scale *= value.factor;
    operands_.push_back(value.value);
    DimensionList of_scores;
    for (const int64_t d : side.of_scores) of_scores.push_back(d < 0 ? -1 : value.dimensions[d]);
    return array(value.value->shape(), of_scores, row, value.dimensions[side.own]);
  }

  void add_step(const TracedStep& step) {
    const bool number = step.kind == ScoreStep::Multiply && !step.values && !step.which;
    if (number && plan_.steps.empty()) {
      plan_.scale *= step.number;
      return;
    }
    AttentionStep next{.kind = step.kind, .inverse = step.inverse, .number = step.number, .other = step.other};
    if ((next.has_values = step.values.has_value())) next.values = mask(*step.values);
    if ((next.has_which = step.which.has_value())) next.which = mask(*step.which);
    plan_.steps.push_back(std::move(next));
  }

  // An array over the scores' dimensions, with the keys last where it changes along them.
  AttentionArray mask(const TracedValue& traced) {
    HloInstruction* value = traced.value;
    DimensionList of_scores = traced.dimensions;
    const int64_t keys = found_.softmax.keys, at = of_scores[keys],
                  last = static_cast<int64_t>(value->shape().dimensions().size()) - 1;
    if (at >= 0 && at != last) {
      DimensionList order(last + 1);
      std::iota(order.begin(), order.end(), 0);
      order.erase(order.begin() + at);
      order.push_back(at);
      value = transposed(value, order);
      for (int64_t& d : of_scores)
        if (d >= 0) d = std::find(order.begin(), order.end(), d) - order.begin();
    }
    operands_.push_back(value);
    return array(value->shape(), of_scores, found_.queries, of_scores[keys]);
  }

  // The order of dimensions after the transposes that follow, if nothing else reads the result.
  DimensionList wanted_order() const {
    DimensionList order(dot_->shape().dimensions().size());
    std::iota(order.begin(), order.end(), 0);
    for (const HloInstruction* value = dot_;
         value->user_count() == 1 && value->users()[0]->opcode() == HloOpcode::kTranspose; value = value->users()[0]) {
      DimensionList next;
      for (const int64_t d : value->users()[0]->dimensions()) next.push_back(order[d]);
      order = std::move(next);
    }
    return order;
  }

  HloInstruction* called() {
    const DimensionList order = wanted_order();
    DimensionList places(order.size()), sizes, of_scores(scores_.dimensions().size(), -1);
    for (size_t i = 0; i < order.size(); ++i) {
      sizes.push_back(dot_->shape().dimensions(order[i]));
      places[order[i]] = static_cast<int64_t>(i);
    }
    // A dot's result has the batch, then what is free in its operands.
    const DotRoles p = roles_of(*dot_, found_.weights);
    const auto batch = p.batch.size(), free = p.free.size();
    const size_t first = batch + (found_.weights == 0 ? 0 : 1), feature = found_.weights == 0 ? batch + free : batch;
    for (size_t i = 0; i < batch; ++i) of_scores[p.batch[i]] = places[i];
    for (size_t i = 0; i < free; ++i) of_scores[p.free[i]] = places[first + i];
    const xla::Shape shape = in_order(shape_like(dot_, sizes));
    plan_.output = array(shape, of_scores, found_.queries, places[feature]);
    HloInstruction* call = add(typed_call(kAttentionTarget, shape, operands_, plan_.text()));
    return transposed(call, places);
  }

  HloInstruction* dot_;
  AttentionParts found_;
  const xla::Shape& scores_;
  DimensionList batch_;
  AttentionPlan plan_;
  std::vector<HloInstruction*> operands_;
};

struct Attention {
  explicit Attention(std::string_view text) : plan(AttentionPlan::from_text(text)), extents(plan.extents()) {}
  AttentionPlan plan;
  std::vector<int64_t> extents;
};

ffi::Error attend(CallState<Attention>* state, ffi::ThreadPool pool, ffi::RemainingArgs arguments,
                  ffi::Result<ffi::AnyBuffer> result) {
  return reported([&] {
    const auto& [plan, extents] = state->kernel;
    std::vector<const void*> data;
    bool fits = arguments.size() + 1 == extents.size() && result->element_count() >= extents.back();
    for (size_t i = 0; fits && i < arguments.size(); ++i) {
      const auto operand = arguments.get<ffi::AnyBuffer>(i);
      fits = operand->element_count() >= extents[i];
      data.push_back(operand->untyped_data());
    }
    if (!fits) return ffi::Error::Internal("the operands of attention are smaller than its configuration says");
    compute_attention(plan, data.data(), static_cast<float*>(result->untyped_data()),
                      static_cast<int>(pool.num_threads()), in_pool(pool));
    return ffi::Error::Success();
  });
}

XLA_FFI_DEFINE_HANDLER(kAttend, attend,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::State<CallState<Attention>>>()
                           .Ctx<ffi::ThreadPool>()
                           .RemainingArgs()
                           .Ret<ffi::AnyBuffer>());

}  // namespace

bool is_attention_in_blocks(const HloInstruction& dot) {
  return attention_in_blocks_of(const_cast<HloInstruction*>(&dot)).has_value();
}

HloInstruction* attention_in_blocks(HloInstruction* dot) {
  std::optional<AttentionParts> found = attention_in_blocks_of(dot);
  if (!found) throw Error("not a dot of a softmax of another's result", std::string(dot->name()));
  register_typed_call<Attention>(kAttentionTarget, kAttend);
  return AttentionCall(dot, std::move(*found)).build();
}

}  // namespace hone::xla_side
