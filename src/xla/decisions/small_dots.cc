#include "decisions/small_dots.h"

#include <algorithm>
#include <numeric>

#include "decisions/arithmetic.h"
#include "decisions/dot_roles.h"
#include "decisions/onednn_convolution.h"
#include "decisions/window_slices.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/cpu/backend_config.pb.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

// Where XLA takes it from: ThunkEmitter::EmitCustomCallThunk.
constexpr char kMatmulTarget[] = "__onednn$matmul";
constexpr int64_t kMostDepth = 32, kMostSide = 64, kLeastBatch = 64;

class SmallDot : Arithmetic {
 public:
  explicit SmallDot(HloInstruction* dot)
      : Arithmetic(dot->parent()), dot_(dot), l_(left_roles(*dot)), r_(right_roles(*dot)) {}

  // The result's dimensions are those of the batch, of the left and of the right operand.
  HloInstruction* products() {
    const auto batch = static_cast<int64_t>(l_.batch.size()), rows = static_cast<int64_t>(l_.free.size()),
               columns = static_cast<int64_t>(r_.free.size());
    Sizes left_at(batch + rows), right_at(batch + columns);
    std::iota(left_at.begin(), left_at.end(), 0);
    std::iota(right_at.begin(), right_at.begin() + batch, 0);
    std::iota(right_at.begin() + batch, right_at.end(), batch + rows);
    HloInstruction* left = transposed(dot_->mutable_operand(0), joined(l_.contracting, l_.batch, l_.free));
    HloInstruction* right = transposed(dot_->mutable_operand(1), joined(r_.contracting, r_.batch, r_.free));
    HloInstruction* sum = nullptr;
    for (int64_t k = 0; k < left->shape().dimensions(0); ++k) {
      HloInstruction* product = binary(HloOpcode::kMultiply, spread(left, k, left_at), spread(right, k, right_at));
      sum = sum == nullptr ? product : binary(HloOpcode::kAdd, sum, product);
    }
    return sum;
  }

  HloInstruction* onednn() {
    HloInstruction* left = arranged(dot_->mutable_operand(0), joined(l_.free, l_.contracting, {}), l_.free);
    HloInstruction* right = arranged(dot_->mutable_operand(1), joined(r_.contracting, r_.free, {}), r_.contracting);
    const xla::Shape result = ShapeUtil::MakeShapeWithDescendingLayout(
        dot_->shape().element_type(), {left->shape().dimensions(0), right->shape().dimensions(1)});
    auto call = HloInstruction::CreateCustomCall(result, {left, right}, kMatmulTarget,
                                                 {in_order(left->shape()), in_order(right->shape())});
    xla::cpu::BackendConfig config;
    config.mutable_onednn_matmul_config();
    check(call->set_backend_config(config), "oneDNN's configuration");
    return reshaped(add(std::move(call)), sizes_of(dot_));
  }

 private:
  // A matrix whose first dimension is made of `rows`.
  HloInstruction* arranged(HloInstruction* value, const Sizes& order, const Sizes& rows) {
    const int64_t first = size_product(value->shape(), rows);
    return reshaped(transposed(value, order), {first, ShapeUtil::ElementsIn(value->shape()) / first});
  }
  // The k-th slice of the first dimension, over the result's dimensions.
  HloInstruction* spread(HloInstruction* value, int64_t k, const Sizes& at) {
    Sizes from(value->shape().dimensions().size(), 0), to = sizes_of(value);
    from[0] = k;
    to[0] = k + 1;
    HloInstruction* slice = sliced(value, from, to, Sizes(from.size(), 1));
    Sizes rest(to.begin() + 1, to.end());
    return add(HloInstruction::CreateBroadcast(dot_->shape(), reshaped(slice, rest), at));
  }

  HloInstruction* dot_;
  DotRoles l_, r_;
};

bool is_small(const HloInstruction& dot) {
  const xla::PrimitiveType type = dot.shape().element_type();
  const DotRoles l = left_roles(dot), r = right_roles(dot);
  const xla::Shape &left = dot.operand(0)->shape(), &right = dot.operand(1)->shape();
  const int64_t depth = size_product(left, l.contracting);
  return (type == xla::F32 || type == xla::F64) && left.element_type() == type && right.element_type() == type &&
         l.contracting.size() == 1 && depth <= kMostDepth && size_product(left, l.batch) >= kLeastBatch &&
         size_product(left, l.free) <= kMostSide && size_product(right, r.free) <= kMostSide;
}

bool is_of_bytes(const HloInstruction& dot) {
  // XLA passes on operands of one type only.
  return dot.shape().element_type() == xla::S32 && dot.operand(0)->shape().element_type() == xla::S8 &&
         dot.operand(1)->shape().element_type() == xla::S8 && left_roles(dot).batch.empty();
}

}  // namespace

std::vector<std::string> small_dot_forms(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kDot || op.parent()->IsFusionComputation() || !has_elements(op)) return {};
  if (is_small(op)) return {kProducts};
  if (is_of_bytes(op)) return {kOneDnn};
  return {};
}

HloInstruction* small_dot(HloInstruction* dot, const std::string& value) {
  const std::vector<std::string> forms = small_dot_forms(*dot);
  if (std::find(forms.begin(), forms.end(), value) == forms.end())
    throw Error("no form '" + value + "' of this dot", std::string(dot->name()));
  return value == kOneDnn ? SmallDot(dot).onednn() : SmallDot(dot).products();
}

}  // namespace hone::xla_side
