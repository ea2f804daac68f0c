#include "decisions/half_dot.h"

#include "decisions/arithmetic.h"
#include "decisions/dot_roles.h"
#include "decisions/host_kernels.h"
#include "decisions/window_slices.h"
#include "graph/decision_family.h"
#include "kernels/few_rows.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

namespace {

using Sizes = std::vector<int64_t>;

// Builds what replaces one dot: a product of matrices, or of as many as the batch has, in the one form that XLA gives to
// YNNPACK. It decides so before it brings dots into that form, and converts the operands of all others.
class MatrixProduct : Arithmetic {
 public:
  MatrixProduct(HloInstruction* dot, bool second_row) : Arithmetic(dot->parent()), dot_(dot), second_row_(second_row) {}

  // By a kernel of our own, which reads the matrix once, as it is stored.
  HloInstruction* few_rows() {
    HloInstruction *left = dot_->mutable_operand(0), *right = dot_->mutable_operand(1);
    const DotRoles l = left_roles(*dot_), r = right_roles(*dot_);
    RowsPlan plan{size_product(left->shape(), l.free), size_product(left->shape(), l.contracting),
                  size_product(right->shape(), r.free)};
    left = as_type(arranged(left, joined(l.free, l.contracting, {}), {plan.rows, plan.depth}), xla::F32);
    const Sizes by_depth = joined(r.contracting, r.free, {});
    plan.by_column = !std::is_sorted(by_depth.begin(), by_depth.end());
    right = plan.by_column ? arranged(right, joined(r.free, r.contracting, {}), {plan.columns, plan.depth})
                           : arranged(right, by_depth, {plan.depth, plan.columns});
    const xla::Shape result = in_order(ShapeUtil::MakeShape(xla::F32, {plan.rows, plan.columns}));
    register_host_kernels();
    HloInstruction* product = add(HloInstruction::CreateCustomCall(
        result, {left, right}, kFewRowsTarget, {in_order(left->shape()), in_order(right->shape())}, plan.text(),
        xla::CustomCallApiVersion::API_VERSION_STATUS_RETURNING_UNIFIED));
    return as_type(reshaped(product, sizes_of(dot_)), dot_->shape().element_type());
  }

  HloInstruction* build() {
    HloInstruction *left = dot_->mutable_operand(0), *right = dot_->mutable_operand(1);
    const DotRoles l = left_roles(*dot_), r = right_roles(*dot_);
    const int64_t rows = size_product(left->shape(), l.free), columns = size_product(right->shape(), r.free),
                  depth = size_product(left->shape(), l.contracting);
    const Sizes batch = l.batch.empty() ? Sizes() : Sizes{size_product(left->shape(), l.batch)};
    left = arranged(left, joined(l.batch, l.free, l.contracting), joined(batch, {rows}, {depth}));
    if (second_row_) left = with_second_row(left);
    // Weights are read as they are stored where possible.
    const Sizes as_stored = joined(r.batch, r.contracting, r.free);
    const bool depth_first = std::is_sorted(as_stored.begin(), as_stored.end());
    right = depth_first ? arranged(right, as_stored, joined(batch, {depth}, {columns}))
                        : arranged(right, joined(r.batch, r.free, r.contracting), joined(batch, {columns}, {depth}));
    HloInstruction* result = multiplied(left, right, batch, depth_first);
    const Sizes sizes = joined(batch, {rows}, {columns});
    if (second_row_) result = sliced(result, Sizes(sizes.size(), 0), sizes, Sizes(sizes.size(), 1));
    result = reshaped(result, sizes_of(dot_));
    return as_type(result, dot_->shape().element_type());
  }

 private:
  HloInstruction* arranged(HloInstruction* value, const Sizes& order, const Sizes& sizes) {
    forget_layout(value);
    return reshaped(transposed(value, order), sizes);
  }

  // Before layouts are assigned those of instructions mean nothing, but XLA asks with them what YNNPACK supports, and
  // importers give transposed weights the layout of what is transposed.
  static void forget_layout(HloInstruction* operand) {
    if (operand->opcode() != HloOpcode::kParameter && operand->opcode() != HloOpcode::kConstant)
      xla::LayoutUtil::SetToDefaultLayout(operand->mutable_shape());
  }

  HloInstruction* with_second_row(HloInstruction* left) {
    xla::Shape two = left->shape();
    const auto row = static_cast<int>(two.dimensions().size()) - 2;
    two.set_dimensions(row, 2);
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(row + 2);
    padding.mutable_dimensions(row)->set_edge_padding_high(1);
    HloInstruction* zero = add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(two.element_type())));
    return add(HloInstruction::CreatePad(two, left, zero, padding));
  }

  HloInstruction* multiplied(HloInstruction* left, HloInstruction* right, const Sizes& batch, bool depth_first) {
    const auto rank = static_cast<int64_t>(batch.size()) + 2;
    xla::DotDimensionNumbers numbers;
    if (!batch.empty()) numbers.add_lhs_batch_dimensions(0), numbers.add_rhs_batch_dimensions(0);
    numbers.add_lhs_contracting_dimensions(rank - 1);
    numbers.add_rhs_contracting_dimensions(depth_first ? rank - 2 : rank - 1);
    const Sizes sizes = joined(batch, {left->shape().dimensions(rank - 2)},
                               {right->shape().dimensions(depth_first ? rank - 1 : rank - 2)});
    return add(HloInstruction::CreateDot(ShapeUtil::MakeShape(xla::F32, sizes), left, right, numbers,
                                         dot_->precision_config()));
  }

  HloInstruction* dot_;
  bool second_row_;
};

int64_t rows_of(const HloInstruction& dot) { return size_product(dot.operand(0)->shape(), left_roles(dot).free); }

bool is_half(const HloInstruction& dot) {
  const xla::PrimitiveType type = dot.shape().element_type();
  return (type == xla::BF16 || type == xla::F32) && dot.operand(0)->shape().element_type() == xla::BF16 &&
         dot.operand(1)->shape().element_type() == xla::BF16;
}

}  // namespace

std::vector<std::string> half_dot_forms(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kDot || !is_half(op) || ShapeUtil::IsZeroElementArray(op.shape()) ||
      ShapeUtil::IsZeroElementArray(op.operand(0)->shape()))
    return {};
  std::vector<std::string> forms;
  if (rows_of(op) <= kMostRows && left_roles(op).batch.empty()) forms.push_back(kFewRows);
  if (rows_of(op) == 1) forms.push_back(kF32ResultOfTwoRows);
  forms.push_back(kF32Result);
  return forms;
}

double half_dot_flops(const HloInstruction& op) {
  double depth = 1;
  for (int64_t d : op.dot_dimension_numbers().lhs_contracting_dimensions())
    depth *= static_cast<double>(op.operand(0)->shape().dimensions(d));
  return 2 * depth * static_cast<double>(ShapeUtil::ElementsIn(op.shape()));
}

HloInstruction* half_dot(HloInstruction* dot, const std::string& value) {
  const std::vector<std::string> forms = half_dot_forms(*dot);
  if (std::find(forms.begin(), forms.end(), value) == forms.end())
    throw Error("no form '" + value + "' of this dot", std::string(dot->name()), kF32Result);
  MatrixProduct product(dot, value == kF32ResultOfTwoRows);
  return value == kFewRows ? product.few_rows() : product.build();
}

}  // namespace hone::xla_side
