#include "decisions/split_convolution.h"

#include <algorithm>
#include <cmath>

#include "decisions/winograd.h"
#include "decisions/winograd_arithmetic.h"
#include "status.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

constexpr int64_t kMostPhases = 16;
constexpr int kTilesOfParts[] = {4, 2};  // 6, and strips, won nowhere

bool is_splittable(const HloInstruction& op) {
  if (!is_dense_convolution(op)) return false;
  const auto& windows = op.window().dimensions();
  int64_t strides = 1, dilation = 1;
  for (const auto& w : windows) {
    if (w.base_dilation() != 1) return false;
    strides *= w.stride();
    dilation *= w.window_dilation();
  }
  return (strides == 1) != (dilation == 1) && strides * dilation <= kMostPhases;
}

// The largest window of one spatial dimension of the parts.
int64_t part_window(const xla::WindowDimension& w) { return (w.size() + w.stride() - 1) / w.stride(); }

}  // namespace

bool has_split(const HloInstruction& op, int tile) {
  if (!is_splittable(op)) return false;
  bool all_fit = true, windows = false;
  for (const xla::WindowDimension& w : op.window().dimensions()) {
    const int64_t window = part_window(w);
    windows |= window > 1;
    all_fit &= window == 1 || tile + window - 1 <= kMostWinogradInputs;
  }
  return all_fit && windows;
}

std::vector<std::string> split_forms(const HloInstruction& op) {
  if (!is_splittable(op)) return {};
  const auto& numbers = op.convolution_dimension_numbers();
  if (size_of(op.operand(1), numbers.kernel_input_feature_dimension()) < kLeastWinogradFeatures ||
      size_of(&op, numbers.output_feature_dimension()) < kLeastWinogradFeatures)
    return {};
  std::vector<std::string> forms;
  for (const int tile : kTilesOfParts)
    if (has_split(op, tile)) forms.push_back(to_text(WinogradForm{.use = WinogradUse::Split, .tile = tile}));
  return forms;
}

namespace {

// Values have the dimensions batch, spatial, features, and are of the type that is computed with.
class SplitConvolution : WinogradArithmetic {
 public:
  SplitConvolution(HloInstruction* conv, WinogradForm form)
      : WinogradArithmetic(conv),
        conv_(conv),
        numbers_(conv->convolution_dimension_numbers()),
        spatial_(conv->window().dimensions_size()),
        form_(form) {}

  HloInstruction* build() {
    input_ = transposed(as_type(conv_->mutable_operand(0), type_),
                        order_of(numbers_.input_batch_dimension(), numbers_.input_spatial_dimensions(),
                                 {numbers_.input_feature_dimension()}));
    kernel_ = as_type(conv_->mutable_operand(1), type_);
    Sizes reversed;
    bool strides = false;
    for (int64_t i = 0; i < spatial_; ++i) {
      strides |= window(i).stride() > 1;
      if (window(i).window_reversal()) reversed.push_back(numbers_.kernel_spatial_dimensions(i));
    }
    if (!reversed.empty()) kernel_ = add(HloInstruction::CreateReverse(kernel_->shape(), kernel_, reversed));
    HloInstruction* result = strides ? sum_of_phases() : phases_as_images();
    Sizes order(spatial_ + 2);
    order[numbers_.output_batch_dimension()] = 0;
    for (int64_t i = 0; i < spatial_; ++i) order[numbers_.output_spatial_dimensions(i)] = i + 1;
    order[numbers_.output_feature_dimension()] = spatial_ + 1;
    return as_type(transposed(result, order), conv_->shape().element_type());
  }

 private:
  const xla::WindowDimension& window(int64_t i) const { return conv_->window().dimensions(i); }
  int64_t out(int64_t i) const { return size_of(conv_, numbers_.output_spatial_dimensions(i)); }

  // The input with zeros around it, to these sizes of its spatial dimensions.
  HloInstruction* padded_input(const Sizes& lengths) {
    Sizes sizes = sizes_of(input_);
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(spatial_ + 2);
    for (int64_t i = 0; i < spatial_; ++i) {
      padding.mutable_dimensions(i + 1)->set_edge_padding_low(window(i).padding_low());
      padding.mutable_dimensions(i + 1)->set_edge_padding_high(lengths[i] - sizes[i + 1] - window(i).padding_low());
      sizes[i + 1] = lengths[i];
    }
    HloInstruction* zero = add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type_)));
    return add(HloInstruction::CreatePad(shape(sizes), input_, zero, padding));
  }

  // One that is made of a constant becomes a constant, whose transform is computed before the program runs.
  HloInstruction* folded(HloInstruction* kernel) {
    if (conv_->operand(1)->opcode() != HloOpcode::kConstant) return kernel;
    xla::HloEvaluator evaluator;
    return add(HloInstruction::CreateConstant(
        take(evaluator.Evaluate(kernel, {}, /*recursively_evaluate_nonconstant_operands=*/true), "weights")));
  }

  // Without strides, dilation and padding.
  HloInstruction* convolution(HloInstruction* input, HloInstruction* kernel) {
    xla::ConvolutionDimensionNumbers numbers = numbers_;
    xla::Window plain;
    Sizes sizes = sizes_of(input);
    numbers.set_input_batch_dimension(0);
    numbers.set_output_batch_dimension(0);
    numbers.set_input_feature_dimension(spatial_ + 1);
    numbers.set_output_feature_dimension(spatial_ + 1);
    for (int64_t i = 0; i < spatial_; ++i) {
      numbers.set_input_spatial_dimensions(static_cast<int>(i), i + 1);
      numbers.set_output_spatial_dimensions(static_cast<int>(i), i + 1);
      auto& w = *plain.add_dimensions();
      w.set_size(size_of(kernel, numbers.kernel_spatial_dimensions(i)));
      w.set_stride(1);
      w.set_window_dilation(1);
      w.set_base_dilation(1);
      sizes[i + 1] -= w.size() - 1;
    }
    sizes[spatial_ + 1] = size_of(kernel, numbers.kernel_output_feature_dimension());
    HloInstruction* conv = add(
        HloInstruction::CreateConvolve(shape(sizes), input, kernel, 1, 1, plain, numbers, conv_->precision_config()));
    if (!has_winograd(*conv) || !fits(*conv, form_.tile)) return conv;  // of a single position: a dot
    HloInstruction* result =
        winograd_convolution(conv, to_text(WinogradForm{.tile = form_.tile, .strips = form_.strips}));
    check(conv->parent()->RemoveInstruction(conv), "a part of a convolution");
    return result;
  }

  HloInstruction* sum_of_phases() {
    Sizes lengths, phases;
    for (int64_t i = 0; i < spatial_; ++i) {
      const xla::WindowDimension& w = window(i);
      lengths.push_back((out(i) - 1 + part_window(w)) * w.stride());
      phases.push_back(std::min(w.stride(), w.size()));
    }
    HloInstruction *input = padded_input(lengths), *sum = nullptr;
    for_each_position(phases, [&](const Position& phase) {
      HloInstruction *part = input, *kernel = kernel_;
      for (int64_t i = 0; i < spatial_; ++i) {
        const int64_t stride = window(i).stride(), positions = (window(i).size() - phase[i] + stride - 1) / stride;
        part = every(part, i + 1, phase[i], out(i) + positions - 1, stride);
        kernel = every(kernel, numbers_.kernel_spatial_dimensions(i), phase[i], positions, stride);
      }
      HloInstruction* result = convolution(part, folded(kernel));
      sum = sum == nullptr ? result : binary(HloOpcode::kAdd, sum, result);
    });
    return sum;
  }

  HloInstruction* phases_as_images() {
    Sizes lengths, outs, split_in, to_images, split_out, from_images;
    const int64_t batch = size_of(input_, 0), results = size_of(conv_, numbers_.output_feature_dimension());
    int64_t phases = 1;
    for (int64_t i = 0; i < spatial_; ++i) {
      const int64_t dilation = window(i).window_dilation();
      outs.push_back((out(i) + dilation - 1) / dilation);
      lengths.push_back((outs[i] + window(i).size() - 1) * dilation);
      phases *= dilation;
    }
    // Batch, place and phase of each spatial dimension, features; the phases before the batch, and back.
    split_in.push_back(batch);
    for (int64_t i = 0; i < spatial_; ++i) {
      split_in.insert(split_in.end(), {outs[i] + window(i).size() - 1, window(i).window_dilation()});
      to_images.push_back(2 * i + 2);
      split_out.push_back(window(i).window_dilation());
      from_images.insert(from_images.end(), {spatial_ + 1 + i, i});
    }
    split_in.push_back(size_of(input_, spatial_ + 1));
    to_images.push_back(0);
    for (int64_t i = 0; i < spatial_; ++i) to_images.push_back(2 * i + 1);
    to_images.push_back(2 * spatial_ + 1);
    split_out.push_back(batch);
    split_out.insert(split_out.end(), outs.begin(), outs.end());
    split_out.push_back(results);
    from_images.insert(from_images.begin(), spatial_);
    from_images.push_back(2 * spatial_ + 1);
    Sizes images = {phases * batch}, joined = {batch}, ends = {batch};
    for (int64_t i = 0; i < spatial_; ++i) {
      images.push_back(split_in[2 * i + 1]);
      joined.push_back(outs[i] * window(i).window_dilation());
      ends.push_back(out(i));
    }
    images.push_back(split_in.back());
    joined.push_back(results);
    ends.push_back(results);
    HloInstruction* input = reshaped(transposed(reshaped(padded_input(lengths), split_in), to_images), images);
    HloInstruction* result = convolution(input, folded(kernel_));
    result = reshaped(transposed(reshaped(result, split_out), from_images), joined);
    return slice(result, Sizes(spatial_ + 2, 0), ends);
  }

  HloInstruction* conv_;
  const xla::ConvolutionDimensionNumbers& numbers_;
  int64_t spatial_;
  WinogradForm form_;
  HloInstruction *input_ = nullptr, *kernel_ = nullptr;
};

}  // namespace

HloInstruction* split_convolution(HloInstruction* conv, const WinogradForm& form) {
  return SplitConvolution(conv, form).build();
}

}  // namespace hone::xla_side
