#include "decisions/onednn_convolution.h"

#include <algorithm>

#include "decisions/arithmetic.h"
#include "decisions/dnnl_calls.h"
#include "decisions/epilogue.h"
#include "decisions/window_slices.h"
#include "status.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/cpu/backend_config.pb.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::ShapeUtil;

// Where XLA takes it from: ThunkEmitter::EmitCustomCallThunk.
constexpr char kTarget[] = "__onednn$convolution";
constexpr int64_t kMostPositions = 125;  // of a window: 11 x 11, or 5 x 5 x 5

bool is_window(const xla::WindowDimension& w) {
  return w.padding_low() >= 0 && w.padding_high() >= 0 && w.base_dilation() == 1;
}

bool is_f32(const xla::Shape& shape) { return shape.IsArray() && shape.element_type() == xla::F32; }

template <class Layout, class Dimensions>
void set_spatial(Layout& layout, const Dimensions& dimensions) {
  for (const int64_t d : dimensions) layout.add_spatial_dims(d);
}

xla::cpu::OneDnnConvolutionConfig config_of(const HloInstruction& conv) {
  const auto& numbers = conv.convolution_dimension_numbers();
  xla::cpu::OneDnnConvolutionConfig config;
  config.set_dims(conv.shape().dimensions().size());
  config.set_feature_groups(conv.feature_group_count());
  auto& input = *config.mutable_input()->mutable_data();
  input.set_batch_dim(numbers.input_batch_dimension());
  input.set_feature_dim(numbers.input_feature_dimension());
  set_spatial(input, numbers.input_spatial_dimensions());
  auto& kernel = *config.mutable_kernel()->mutable_filter();
  kernel.set_input_feature_dim(numbers.kernel_input_feature_dimension());
  kernel.set_output_feature_dim(numbers.kernel_output_feature_dimension());
  set_spatial(kernel, numbers.kernel_spatial_dimensions());
  auto& output = *config.mutable_output()->mutable_data();
  output.set_batch_dim(numbers.output_batch_dimension());
  output.set_feature_dim(numbers.output_feature_dimension());
  set_spatial(output, numbers.output_spatial_dimensions());
  auto& window = *config.mutable_window();
  for (const xla::WindowDimension& w : conv.window().dimensions()) {
    window.add_size(w.size());
    window.add_pad_left(w.padding_low());
    window.add_pad_right(w.padding_high());
    window.add_strides(w.stride());
    window.add_window_dilations(w.window_dilation());  // as XLA counts it: the wheel's differs from upstream's by one
  }
  return config;
}

using Sizes = std::vector<int64_t>;

// By the library of its own: images with their features innermost, which consecutive calls hand on to each other.
class DnnlConvolution : Arithmetic {
 public:
  DnnlConvolution(HloInstruction* conv, HloInstruction* kernel)
      : Arithmetic(conv->parent()), conv_(conv), kernel_(kernel), numbers_(conv->convolution_dimension_numbers()) {}

  HloInstruction* build() {
    const Sizes output_order = joined(numbers_.output_batch_dimension(), numbers_.output_spatial_dimensions(),
                                      numbers_.output_feature_dimension());
    Epilogue after = epilogue_of(conv_, numbers_.output_feature_dimension());
    std::vector<HloInstruction*> operands = {
        transposed(conv_->mutable_operand(0),
                   joined(numbers_.input_batch_dimension(), numbers_.input_spatial_dimensions(),
                          numbers_.input_feature_dimension())),
        kernel_};
    Sizes sizes, back(output_order.size());
    for (size_t i = 0; i < output_order.size(); ++i) {
      sizes.push_back(conv_->shape().dimensions(output_order[i]));
      back[output_order[i]] = static_cast<int64_t>(i);
    }
    auto operand = after.operands.begin();
    for (const PostOp& step : after.steps)
      if (step.operand == PostOperand::Full)
        operands.push_back(transposed(*operand++, output_order));
      else if (step.operand == PostOperand::Channel)
        operands.push_back(*operand++);
    const xla::Shape result = ShapeUtil::MakeShape(xla::F32, sizes);
    HloInstruction* call =
        dnnl_call(conv_->parent(), result, plan(operands[0]->shape(), result, after.steps), operands);
    HloInstruction* value = transposed(call, back);
    replace_steps(conv_, after, value);
    return value;
  }

 private:
  template <class Dimensions>
  static Sizes joined(int64_t first, const Dimensions& middle, int64_t last) {
    Sizes all = {first};
    all.insert(all.end(), middle.begin(), middle.end());
    all.push_back(last);
    return all;
  }

  DnnlPlan plan(const xla::Shape& input, const xla::Shape& output, std::vector<PostOp> steps) const {
    const auto spatial = numbers_.input_spatial_dimensions().size();
    Sizes images = {0, spatial + 1},
          weights = {numbers_.kernel_output_feature_dimension(), numbers_.kernel_input_feature_dimension()};
    for (int i = 0; i < spatial; ++i) {
      images.push_back(i + 1);
      weights.push_back(numbers_.kernel_spatial_dimensions(i));
    }
    DnnlPlan plan;
    plan.input = dnnl_array(input, images);
    plan.output = dnnl_array(output, images);
    plan.weights = dnnl_array(kernel_->shape(), weights);
    plan.groups = conv_->feature_group_count();
    if (plan.groups > 1) {
      DnnlArray& w = plan.weights;
      w.sizes[0] /= plan.groups;
      w.sizes.insert(w.sizes.begin(), plan.groups);
      w.strides.insert(w.strides.begin(), w.strides[0] * w.sizes[1]);
    }
    for (const xla::WindowDimension& w : conv_->window().dimensions()) {
      plan.strides.push_back(w.stride());
      plan.dilation.push_back(w.window_dilation());
      plan.pad_low.push_back(w.padding_low());
      plan.pad_high.push_back(w.padding_high());
    }
    plan.post_ops = std::move(steps);
    return plan;
  }

  HloInstruction *conv_, *kernel_;
  const xla::ConvolutionDimensionNumbers& numbers_;
};

}  // namespace

std::vector<std::string> onednn_forms(const HloInstruction& op) {
  if (op.opcode() != xla::HloOpcode::kConvolution || op.batch_group_count() != 1 || !is_f32(op.shape()) ||
      !is_f32(op.operand(0)->shape()) || !is_f32(op.operand(1)->shape()) || !has_elements(op))
    return {};
  const auto& windows = op.window().dimensions();
  if (windows.empty() || windows.size() > 3 || !std::all_of(windows.begin(), windows.end(), is_window)) return {};
  // For windows as large as images, which gradients of weights have, it has no kernel but a reference.
  if (window_positions(op.window()) > kMostPositions) return {};
  // A single position without strides is a product of two matrices: other libraries compute it as fast, without its steps.
  const bool product = std::all_of(windows.begin(), windows.end(), [](const auto& w) {
    return w.size() == 1 && w.stride() == 1 && w.padding_low() == 0 && w.padding_high() == 0;
  });
  if (product && op.feature_group_count() == 1 && !has_dnnl()) return {};
  return {kOneDnn};
}

HloInstruction* onednn_convolution(HloInstruction* conv) {
  if (onednn_forms(*conv).empty()) throw Error("not a convolution for oneDNN", std::string(conv->name()));
  HloInstruction* kernel = conv->mutable_operand(1);
  std::vector<int64_t> reversed;
  for (int i = 0; i < conv->window().dimensions_size(); ++i)
    if (conv->window().dimensions(i).window_reversal())
      reversed.push_back(conv->convolution_dimension_numbers().kernel_spatial_dimensions(i));
  if (!reversed.empty())
    kernel = conv->parent()->AddInstruction(HloInstruction::CreateReverse(kernel->shape(), kernel, reversed));
  if (has_dnnl()) return DnnlConvolution(conv, kernel).build();
  auto call = HloInstruction::CreateCustomCall(in_order(conv->shape()), {conv->mutable_operand(0), kernel}, kTarget,
                                               {in_order(conv->operand(0)->shape()), in_order(kernel->shape())});
  xla::cpu::BackendConfig config;
  *config.mutable_onednn_conv_config() = config_of(*conv);
  check(call->set_backend_config(config), "oneDNN's configuration");
  return conv->parent()->AddInstruction(std::move(call));
}

}  // namespace hone::xla_side
