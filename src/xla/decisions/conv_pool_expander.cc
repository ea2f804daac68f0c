#include "decisions/conv_pool_expander.h"

#include "decisions/shifted_convolution.h"
#include "decisions/window_slices.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;
using xla::ShapeUtil;

bool reads_few_features(const HloInstruction& conv) {
  return conv.batch_group_count() == 1 && conv.feature_group_count() > 1 &&
         window_positions(conv.window()) * features_per_group(conv) <= kMostSlices;
}

// The gradient of a depthwise convolution's weights: each feature of one operand is paired with the same feature of the
// other (the features are the batch of the left one), and the result has few positions.
bool pairs_features(const HloInstruction& conv) {
  const auto& numbers = conv.convolution_dimension_numbers();
  if (conv.feature_group_count() != 1 || conv.batch_group_count() <= 1) return false;
  const int64_t groups = conv.batch_group_count();
  if (conv.operand(0)->shape().dimensions(numbers.input_batch_dimension()) != groups ||
      conv.shape().dimensions(numbers.output_feature_dimension()) != groups)
    return false;
  int64_t positions = 1;
  for (int64_t d : numbers.output_spatial_dimensions()) positions *= conv.shape().dimensions(d);
  return positions <= kMostSlices;
}

bool is_float_convolution(const HloInstruction& op) {
  return op.opcode() == HloOpcode::kConvolution && is_float(op.shape()) && is_float(op.operand(0)->shape()) &&
         is_float(op.operand(1)->shape()) && has_elements(op);
}

// Whether the init value is the reducer's identity. Otherwise XLA applies it once, and padding is undefined.
bool is_neutral(const HloInstruction& first, HloOpcode opcode) {
  if (first.opcode() != HloOpcode::kConstant) return false;
  const xla::PrimitiveType type = first.shape().element_type();
  if (opcode == HloOpcode::kAdd) return first.literal().IsAll(0);
  if (opcode == HloOpcode::kMaximum) return first.literal() == xla::LiteralUtil::MinValue(type);
  return opcode == HloOpcode::kMinimum && first.literal() == xla::LiteralUtil::MaxValue(type);
}

}  // namespace

bool is_expandable_convolution(const HloInstruction& op) { return is_float_convolution(op) && reads_few_features(op); }

bool is_expandable_gradient(const HloInstruction& op) { return is_float_convolution(op) && pairs_features(op); }

bool is_expandable_pooling(const HloInstruction& reduce) {
  if (reduce.opcode() != HloOpcode::kReduceWindow || !reduce.shape().IsArray() || reduce.operand_count() != 2)
    return false;
  const HloInstruction& root = *reduce.to_apply()->root_instruction();
  const bool one_operation = reduce.to_apply()->instruction_count() == 3 && root.IsElementwiseBinary() &&
                             root.operand(0)->opcode() == HloOpcode::kParameter &&
                             root.operand(1)->opcode() == HloOpcode::kParameter && root.operand(0) != root.operand(1);
  const int64_t positions = window_positions(reduce.window());
  return one_operation && has_elements(reduce) && is_float(reduce.shape()) &&
         reduce.shape().element_type() == root.shape().element_type() &&
         is_neutral(*reduce.operand(1), root.opcode()) && positions > 1 && positions <= kMostSlices &&
         !xla::window_util::HasWindowReversal(reduce.window());
}

double expanded_operations(const HloInstruction& op) {
  const double count = static_cast<double>(ShapeUtil::ElementsIn(op.shape())) * window_positions(op.window());
  return op.opcode() == HloOpcode::kConvolution ? count * features_per_group(op) : count;
}

}  // namespace hone::xla_side
