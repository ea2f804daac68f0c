#include "decisions/half_dot.h"

#include "decisions/arithmetic.h"
#include "decisions/dnnl_calls.h"
#include "decisions/dot_roles.h"
#include "decisions/epilogue.h"
#include "decisions/host_kernels.h"
#include "decisions/quantized_weights.h"
#include "decisions/window_slices.h"
#include "graph/decision_family.h"
#include "graph/operation_key.h"
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

RowsElement rows_element(xla::PrimitiveType type) {
  return type == xla::F32   ? RowsElement::F32
         : type == xla::F16 ? RowsElement::F16
         : type == xla::S8  ? RowsElement::S8
                            : RowsElement::Bf16;
}

// Builds what replaces one dot: a product of matrices, or of as many as the batch has, in the one form that XLA gives to
// YNNPACK. It decides so before it brings dots into that form, and converts the operands of all others.
class MatrixProduct : Arithmetic {
 public:
  MatrixProduct(HloInstruction* dot, bool second_row) : Arithmetic(dot->parent()), dot_(dot), second_row_(second_row) {}

  // By a kernel of our own, which reads the matrix once, as it is stored.
  HloInstruction* few_rows() {
    const Matrices m = matrices();
    const RowsPlan plan{m.rows, m.depth, m.columns, m.by_column, rows_element(m.right->shape().element_type())};
    const xla::Shape result = in_order(ShapeUtil::MakeShape(xla::F32, {plan.rows, plan.columns}));
    register_host_kernels();
    HloInstruction* left = as_type(m.left, xla::F32);
    HloInstruction* product = add(HloInstruction::CreateCustomCall(
        result, {left, m.right}, kFewRowsTarget, {in_order(left->shape()), in_order(m.right->shape())}, plan.text(),
        xla::CustomCallApiVersion::API_VERSION_STATUS_RETURNING_UNIFIED));
    return as_type(reshaped(product, sizes_of(dot_)), dot_->shape().element_type());
  }

  // With the steps that follow where the columns are one dimension of the result, and all is of f32: between steps of half
  // precision the program rounds.
  HloInstruction* by_onednn() {
    Matrices m = matrices();
    Epilogue after{{}, {}, dot_};
    const bool wide = m.right->shape().element_type() == xla::F32;
    m.left = as_type(m.left, xla::F32);
    if (wide && right_roles(*dot_).free.size() == 1)
      after = epilogue_of(dot_, static_cast<int64_t>(dot_->shape().dimensions().size()) - 1, /*through_reshapes=*/true);
    const xla::Shape result = ShapeUtil::MakeShape(xla::F32, {m.rows, m.columns});
    std::vector<HloInstruction*> operands = {m.left, m.right};
    auto operand = after.operands.begin();
    for (const PostOp& step : after.steps) {
      if (step.operand == PostOperand::None) continue;
      operands.push_back(step.operand == PostOperand::Full ? reshaped(*operand, {m.rows, m.columns}) : *operand);
      ++operand;
    }
    DnnlPlan plan;
    plan.input = dnnl_array(m.left->shape(), {0, 1});
    plan.output = dnnl_array(result, {0, 1});
    plan.weights = dnnl_array(m.right->shape(), m.by_column ? Sizes{1, 0} : Sizes{0, 1});
    plan.weights_type = xla::primitive_util::LowercasePrimitiveTypeName(m.right->shape().element_type());
    plan.post_ops = after.steps;
    HloInstruction* product = dnnl_call(dot_->parent(), result, plan, operands);
    if (!wide) return as_type(reshaped(product, sizes_of(dot_)), dot_->shape().element_type());
    replace_steps(dot_, after, reshaped(product, sizes_of(after.last)));
    return reshaped(product, sizes_of(dot_));
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
  struct Matrices {
    HloInstruction *left, *right;  // [rows, depth]; [depth, columns], or by column [columns, depth]
    int64_t rows, depth, columns;
    bool by_column;
  };

  // Weights as they are stored.
  Matrices matrices() {
    HloInstruction *left = dot_->mutable_operand(0), *right = dot_->mutable_operand(1);
    if (reads_bytes(*dot_)) right = right->mutable_operand(0);
    const DotRoles l = left_roles(*dot_), r = right_roles(*dot_);
    const int64_t rows = size_product(left->shape(), l.free), depth = size_product(left->shape(), l.contracting),
                  columns = size_product(right->shape(), r.free);
    left = arranged(left, joined(l.free, l.contracting, {}), {rows, depth});
    Sizes by_depth = joined(r.contracting, r.free, {}), by_column = joined(r.free, r.contracting, {});
    if (right->opcode() == HloOpcode::kTranspose) {  // as frameworks store weights: read them so, too
      for (Sizes* order : {&by_depth, &by_column})
        for (int64_t& d : *order) d = right->dimensions(d);
      right = right->mutable_operand(0);
    }
    const bool turned = !std::is_sorted(by_depth.begin(), by_depth.end());
    right = turned ? arranged(right, by_column, {columns, depth}) : arranged(right, by_depth, {depth, columns});
    return {left, right, rows, depth, columns, turned};
  }

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

bool is_f32_dot(const HloInstruction& dot) {
  return dot.shape().element_type() == xla::F32 && dot.operand(0)->shape().element_type() == xla::F32 &&
         dot.operand(1)->shape().element_type() == xla::F32;
}

bool has_few_rows(const HloInstruction& dot) { return rows_of(dot) <= kMostRows && left_roles(dot).batch.empty(); }

// Both operands of the type, the result of it or of f32.
bool multiplies(const HloInstruction& dot, xla::PrimitiveType half) {
  const xla::PrimitiveType type = dot.shape().element_type();
  return (type == half || type == xla::F32) && dot.operand(0)->shape().element_type() == half &&
         dot.operand(1)->shape().element_type() == half;
}

// A call of the library takes a microsecond.
bool is_worth_onednn(const HloInstruction& dot) {
  constexpr double kLeastFlops = 1 << 19;  // some five microseconds
  return left_roles(dot).batch.empty() && half_dot_flops(dot) >= kLeastFlops && has_dnnl();
}

}  // namespace

bool reads_bytes(const HloInstruction& dot) { return multiplies_bytes(dot) && has_few_rows(dot); }

std::vector<std::string> half_dot_forms(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kDot || ShapeUtil::IsZeroElementArray(op.shape()) ||
      ShapeUtil::IsZeroElementArray(op.operand(0)->shape()))
    return {};
  if (reads_bytes(op)) return {kFewRows};
  std::vector<std::string> forms;
  if (multiplies(op, xla::F16)) {
    if (has_few_rows(op) && reads_element(RowsElement::F16))
      forms.push_back(kFewRows);  // of f32, oneDNN would read twice the bytes
    else if (is_worth_onednn(op))
      forms.push_back(kOneDnn);
    return forms;
  }
  if (!multiplies(op, xla::BF16)) return {};
  if (has_few_rows(op)) forms.push_back(kFewRows);
  if (rows_of(op) == 1) forms.push_back(kF32ResultOfTwoRows);
  forms.push_back(kF32Result);
  return forms;
}

std::vector<std::string> float_dot_forms(const HloInstruction& op) {
  constexpr int64_t kLeastElements = 1 << 14;  // of the matrix: below, it stays in the first-level cache
  if (op.opcode() != HloOpcode::kDot || !is_f32_dot(op) || reads_bytes(op) || !left_roles(op).batch.empty() ||
      ShapeUtil::IsZeroElementArray(op.shape()) || ShapeUtil::IsZeroElementArray(op.operand(0)->shape()))
    return {};
  std::vector<std::string> forms;
  if (has_few_rows(op) && ShapeUtil::ElementsIn(op.operand(1)->shape()) >= kLeastElements) forms.push_back(kFewRows);
  if (is_worth_onednn(op)) forms.push_back(kOneDnn);
  return forms;
}

HloInstruction* float_dot(HloInstruction* dot, const std::string& value) {
  const std::vector<std::string> forms = float_dot_forms(*dot);
  if (std::find(forms.begin(), forms.end(), value) == forms.end())
    throw Error("no form '" + value + "' of this dot", std::string(dot->name()));
  MatrixProduct product(dot, /*second_row=*/false);
  return value == kFewRows ? product.few_rows() : product.by_onednn();
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
  return value == kFewRows ? product.few_rows() : value == kOneDnn ? product.by_onednn() : product.build();
}

}  // namespace hone::xla_side
