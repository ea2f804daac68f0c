#include "decisions/shifted_convolution.h"

#include <algorithm>
#include <numeric>

#include "decisions/arithmetic.h"
#include "decisions/window_slices.h"
#include "xla_pch.h"

namespace hone::xla_side {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;
using xla::ShapeUtil;

int64_t features_per_group(const HloInstruction& conv) {
  return conv.operand(1)->shape().dimensions(conv.convolution_dimension_numbers().kernel_input_feature_dimension());
}

namespace {

// Builds the arithmetic that replaces one convolution, in the convolution's computation.
class ShiftedConvolution : Arithmetic {
 public:
  explicit ShiftedConvolution(HloInstruction* conv)
      : Arithmetic(conv->parent()),
        conv_(conv),
        numbers_(conv->convolution_dimension_numbers()),
        window_(conv->window()),
        // Narrow types are summed in f32, as in libraries.
        type_(conv->shape().element_type() == xla::F64 ? xla::F64 : xla::F32),
        input_(padded_input()),
        kernel_(as_type(conv->mutable_operand(1), type_)) {}

  HloInstruction* build() {
    HloInstruction* result = conv_->batch_group_count() > 1 ? sums_of_pairs() : sum_of_slices();
    return as_type(result, conv_->shape().element_type());
  }

 private:
  Shape shape_of(std::vector<int64_t> dimensions) const { return ShapeUtil::MakeShape(type_, dimensions); }

  HloInstruction* zero() { return add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type_))); }

  static int64_t size_of(const HloInstruction* value, int64_t dimension) {
    return value->shape().dimensions(dimension);
  }

  int64_t spatial_rank() const { return numbers_.input_spatial_dimensions_size(); }

  HloInstruction* padded_input() {
    HloInstruction* input = as_type(conv_->mutable_operand(0), type_);
    const auto& axes = numbers_.input_spatial_dimensions();
    return pads(window_) ? padded(input, zero(), window_, Position(axes.begin(), axes.end())) : input;
  }

  // The part of the input from `start` in each spatial dimension, `counts` elements `strides` apart.
  HloInstruction* input_slice(HloInstruction* input, const Position& start, const Position& counts,
                              const Position& strides) {
    const auto& sizes = input->shape().dimensions();
    Position from(sizes.size(), 0), to(sizes.begin(), sizes.end()), step(sizes.size(), 1);
    for (int64_t i = 0; i < spatial_rank(); ++i) {
      const int64_t d = numbers_.input_spatial_dimensions(i);
      from[d] = start[i];
      to[d] = start[i] + (counts[i] - 1) * strides[i] + 1;
      step[d] = strides[i];
    }
    return sliced(input, from, to, step);
  }

  // Feature number `member` of every group, once for each output feature of the group.
  HloInstruction* features_of(int64_t member) {
    const int64_t members = features_per_group(*conv_);
    const int64_t multiplier = size_of(conv_, numbers_.output_feature_dimension()) / conv_->feature_group_count();
    HloInstruction* input = members == 1 ? input_ : every_feature(member, members);
    return multiplier == 1 ? input : repeated_features(input, multiplier);
  }

  HloInstruction* every_feature(int64_t first, int64_t stride) {
    const int64_t feature = numbers_.input_feature_dimension();
    const auto& sizes = input_->shape().dimensions();
    Position from(sizes.size(), 0), to(sizes.begin(), sizes.end()), step(sizes.size(), 1);
    from[feature] = first;
    step[feature] = stride;
    return sliced(input_, from, to, step);
  }

  HloInstruction* repeated_features(HloInstruction* input, int64_t multiplier) {
    const int64_t feature = numbers_.input_feature_dimension();
    std::vector<int64_t> split(input->shape().dimensions().begin(), input->shape().dimensions().end());
    std::vector<int64_t> merged = split, kept;
    split.insert(split.begin() + feature + 1, multiplier);
    merged[feature] *= multiplier;
    for (int64_t d = 0; d < static_cast<int64_t>(split.size()); ++d)
      if (d != feature + 1) kept.push_back(d);
    HloInstruction* wide = add(HloInstruction::CreateBroadcast(shape_of(split), input, kept));
    return add(HloInstruction::CreateReshape(shape_of(merged), wide));
  }

  // The weights of one window position and member of the groups, one per output feature.
  HloInstruction* weights_at(const Position& position, int64_t member) {
    const auto& sizes = kernel_->shape().dimensions();
    Position from(sizes.size(), 0), to(sizes.begin(), sizes.end()), step(sizes.size(), 1);
    const int64_t features = sizes[numbers_.kernel_output_feature_dimension()];
    from[numbers_.kernel_input_feature_dimension()] = member;
    to[numbers_.kernel_input_feature_dimension()] = member + 1;
    for (int64_t i = 0; i < spatial_rank(); ++i) {
      const xla::WindowDimension& w = window_.dimensions(i);
      const int64_t d = numbers_.kernel_spatial_dimensions(i);
      from[d] = w.window_reversal() ? w.size() - 1 - position[i] : position[i];
      to[d] = from[d] + 1;
    }
    return add(HloInstruction::CreateReshape(shape_of({features}), sliced(kernel_, from, to, step)));
  }

  HloInstruction* sum_of_slices() {
    const int64_t feature = numbers_.input_feature_dimension();
    Position sizes, counts, strides;
    for (int64_t i = 0; i < spatial_rank(); ++i) {
      sizes.push_back(window_.dimensions(i).size());
      counts.push_back(size_of(conv_, numbers_.output_spatial_dimensions(i)));
      strides.push_back(window_.dimensions(i).stride());
    }
    HloInstruction* sum = nullptr;
    for (int64_t member = 0; member < features_per_group(*conv_); ++member) {
      HloInstruction* input = features_of(member);
      for_each_position(sizes, [&](const Position& position) {
        Position start;
        for (int64_t i = 0; i < spatial_rank(); ++i)
          start.push_back(position[i] * window_.dimensions(i).window_dilation());
        HloInstruction* values = input_slice(input, start, counts, strides);
        HloInstruction* weights =
            add(HloInstruction::CreateBroadcast(values->shape(), weights_at(position, member), {feature}));
        HloInstruction* product = binary(HloOpcode::kMultiply, values, weights);
        sum = sum == nullptr ? product : binary(HloOpcode::kAdd, sum, product);
      });
    }
    // From the order of the input's dimensions to that of the output.
    std::vector<int64_t> order(conv_->shape().dimensions().size());
    order[numbers_.output_batch_dimension()] = numbers_.input_batch_dimension();
    order[numbers_.output_feature_dimension()] = feature;
    for (int64_t i = 0; i < spatial_rank(); ++i)
      order[numbers_.output_spatial_dimensions(i)] = numbers_.input_spatial_dimensions(i);
    return transposed(sum, order);
  }

  // The right operand transposed to the left one's dimension order: output features in place of the batch, input
  // features in place of the features; reversed in the dimensions with window reversal.
  HloInstruction* aligned_kernel() {
    std::vector<int64_t> order(kernel_->shape().dimensions().size()), reversed;
    order[numbers_.input_batch_dimension()] = numbers_.kernel_output_feature_dimension();
    order[numbers_.input_feature_dimension()] = numbers_.kernel_input_feature_dimension();
    for (int64_t i = 0; i < spatial_rank(); ++i) {
      order[numbers_.input_spatial_dimensions(i)] = numbers_.kernel_spatial_dimensions(i);
      if (window_.dimensions(i).window_reversal()) reversed.push_back(numbers_.input_spatial_dimensions(i));
    }
    HloInstruction* aligned = transposed(kernel_, order);
    return reversed.empty() ? aligned : add(HloInstruction::CreateReverse(aligned->shape(), aligned, reversed));
  }

  // Sums over all dimensions but one, as a row. Uses a dot with ones: XLA:CPU would fuse a reduction over the major
  // dimensions with its producer and then sum one element at a time.
  HloInstruction* summed_but(HloInstruction* values, int64_t kept) {
    std::vector<int64_t> order(values->shape().dimensions().size());
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + kept);
    order.push_back(kept);
    const int64_t width = size_of(values, kept), height = ShapeUtil::ElementsIn(values->shape()) / width;
    HloInstruction* table = add(HloInstruction::CreateReshape(shape_of({height, width}), transposed(values, order)));
    HloInstruction* one = add(HloInstruction::CreateConstant(xla::LiteralUtil::One(type_)));
    HloInstruction* ones = add(HloInstruction::CreateBroadcast(shape_of({1, height}), one, {}));
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_contracting_dimensions(1);
    numbers.add_rhs_contracting_dimensions(0);
    xla::PrecisionConfig precision;
    precision.mutable_operand_precision()->Resize(2, xla::PrecisionConfig::DEFAULT);
    return add(HloInstruction::CreateDot(shape_of({1, width}), ones, table, numbers, precision));
  }

  // Concatenates one sum of products for each position of the result.
  HloInstruction* sums_of_pairs() {
    HloInstruction* kernel = aligned_kernel();
    const int64_t features = conv_->batch_group_count();
    Position results, counts, dilations;
    for (int64_t i = 0; i < spatial_rank(); ++i) {
      results.push_back(conv_->shape().dimensions(numbers_.output_spatial_dimensions(i)));
      counts.push_back(window_.dimensions(i).size());
      dilations.push_back(window_.dimensions(i).window_dilation());
    }
    std::vector<HloInstruction*> rows;
    for_each_position(results, [&](const Position& position) {
      Position start;
      for (int64_t i = 0; i < spatial_rank(); ++i) start.push_back(position[i] * window_.dimensions(i).stride());
      HloInstruction* products = binary(HloOpcode::kMultiply, input_slice(input_, start, counts, dilations), kernel);
      rows.push_back(summed_but(products, numbers_.input_batch_dimension()));
    });
    const auto count = static_cast<int64_t>(rows.size());
    HloInstruction* table = add(HloInstruction::CreateConcatenate(shape_of({count, features}), rows, 0));
    // Reshapes to positions and features, then transposes to the output's order; its batch dimension has one element.
    std::vector<int64_t> sizes = results;
    sizes.push_back(features);
    sizes.push_back(1);
    HloInstruction* box = add(HloInstruction::CreateReshape(shape_of(sizes), table));
    std::vector<int64_t> order(sizes.size());
    for (int64_t i = 0; i < spatial_rank(); ++i) order[numbers_.output_spatial_dimensions(i)] = i;
    order[numbers_.output_feature_dimension()] = spatial_rank();
    order[numbers_.output_batch_dimension()] = spatial_rank() + 1;
    return transposed(box, order);
  }

  HloInstruction* conv_;
  const xla::ConvolutionDimensionNumbers& numbers_;
  const xla::Window& window_;
  xla::PrimitiveType type_;
  HloInstruction *input_, *kernel_;
};

}  // namespace

HloInstruction* shifted_convolution(HloInstruction* convolution) { return ShiftedConvolution(convolution).build(); }

HloInstruction* shifted_pooling(HloInstruction* reduce) {
  xla::HloComputation* computation = reduce->parent();
  const xla::Window& window = reduce->window();
  HloInstruction *input = reduce->mutable_operand(0), *init = reduce->mutable_operand(1);
  Position axes(window.dimensions_size()), sizes, strides;
  std::iota(axes.begin(), axes.end(), 0);
  for (const xla::WindowDimension& w : window.dimensions()) {
    sizes.push_back(w.size());
    strides.push_back(w.stride());
  }
  if (pads(window)) input = padded(input, init, window, axes);
  const Shape& shape = reduce->shape();
  const HloOpcode opcode = reduce->to_apply()->root_instruction()->opcode();
  HloInstruction* result = nullptr;
  for_each_position(sizes, [&](const Position& position) {
    Position from, to;
    for (size_t d = 0; d < sizes.size(); ++d) {
      from.push_back(position[d] * window.dimensions(d).window_dilation());
      to.push_back(from[d] + (shape.dimensions(d) - 1) * strides[d] + 1);
    }
    HloInstruction* slice = sliced(input, from, to, strides);
    result = result == nullptr
                 ? slice
                 : computation->AddInstruction(HloInstruction::CreateBinary(slice->shape(), opcode, result, slice));
  });
  return result;
}

}  // namespace hone::xla_side
