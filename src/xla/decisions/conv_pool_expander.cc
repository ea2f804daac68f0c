#include "decisions/conv_pool_expander.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/library_keys.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;
using xla::ShapeUtil;

constexpr int64_t kMostSlices = 64;  // an 8 x 8 window

bool is_float(const Shape& shape) {
  return shape.element_type() == xla::F32 || shape.element_type() == xla::F64 || shape.element_type() == xla::BF16 ||
         shape.element_type() == xla::F16;
}

int64_t window_positions(const xla::Window& window) {
  return std::accumulate(window.dimensions().begin(), window.dimensions().end(), int64_t{1},
                         [](int64_t n, const xla::WindowDimension& d) { return n * d.size(); });
}

int64_t features_per_group(const HloInstruction& conv) {
  return conv.operand(1)->shape().dimensions(conv.convolution_dimension_numbers().kernel_input_feature_dimension());
}

bool reads_few_features(const HloInstruction& conv) {
  return conv.batch_group_count() == 1 && conv.feature_group_count() > 1 &&
         window_positions(conv.window()) * features_per_group(conv) <= kMostSlices;
}

// The gradient of a depthwise convolution's weights: features of both operands meet one to one (they are the batch of the
// left one), and the result has few positions.
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

bool is_shiftable_convolution(const HloInstruction& conv) {
  return conv.opcode() == HloOpcode::kConvolution && is_float(conv.shape()) && is_float(conv.operand(0)->shape()) &&
         is_float(conv.operand(1)->shape()) && (reads_few_features(conv) || pairs_features(conv));
}

// Where the first value leaves any other as it is; elsewhere XLA counts it once, and what padding stands for is not said.
bool is_neutral(const HloInstruction& first, HloOpcode opcode) {
  if (first.opcode() != HloOpcode::kConstant) return false;
  const xla::PrimitiveType type = first.shape().element_type();
  if (opcode == HloOpcode::kAdd) return first.literal().IsAll(0);
  if (opcode == HloOpcode::kMaximum) return first.literal() == xla::LiteralUtil::MinValue(type);
  return opcode == HloOpcode::kMinimum && first.literal() == xla::LiteralUtil::MaxValue(type);
}

// A pooling: one array, a reducer of one operation on its two parameters.
bool is_shiftable_reduction(const HloInstruction& reduce) {
  if (reduce.opcode() != HloOpcode::kReduceWindow || !reduce.shape().IsArray() || reduce.operand_count() != 2)
    return false;
  const HloInstruction& root = *reduce.to_apply()->root_instruction();
  const bool one_operation = reduce.to_apply()->instruction_count() == 3 && root.IsElementwiseBinary() &&
                             root.operand(0)->opcode() == HloOpcode::kParameter &&
                             root.operand(1)->opcode() == HloOpcode::kParameter && root.operand(0) != root.operand(1);
  const int64_t positions = window_positions(reduce.window());
  return one_operation && is_float(reduce.shape()) && reduce.shape().element_type() == root.shape().element_type() &&
         is_neutral(*reduce.operand(1), root.opcode()) && positions > 1 && positions <= kMostSlices &&
         !xla::window_util::HasWindowReversal(reduce.window());
}

std::string key_of(const HloInstruction& op) {
  const std::string shapes =
      absl::StrCat(ShapeUtil::HumanString(op.operand(0)->shape()), op.opcode() == HloOpcode::kConvolution ? "*" : "",
                   op.opcode() == HloOpcode::kConvolution ? ShapeUtil::HumanString(op.operand(1)->shape()) : "", "->",
                   ShapeUtil::HumanString(op.shape()));
  const std::string window = xla::window_util::ToString(op.window());
  if (op.opcode() == HloOpcode::kReduceWindow)
    return absl::StrCat(kPoolingKeyPrefix, xla::HloOpcodeString(op.to_apply()->root_instruction()->opcode()), ":",
                        shapes, ":", window);
  const bool backward = op.batch_group_count() > 1;
  return absl::StrCat(
      kConvolutionKeyPrefix, shapes, ":", xla::ConvolutionDimensionNumbersToString(op.convolution_dimension_numbers()),
      ":", window, backward ? kBatchGroups : ":groups ", backward ? op.batch_group_count() : op.feature_group_count());
}

double elementwise_operations(const HloInstruction& op) {
  const double count = static_cast<double>(ShapeUtil::ElementsIn(op.shape())) * window_positions(op.window());
  return op.opcode() == HloOpcode::kConvolution ? count * features_per_group(op) : count;
}

using Position = std::vector<int64_t>;  // in the dimensions of a window

// Calls visit(position) for all positions of a box.
void for_each(const Position& sizes, const std::function<void(const Position&)>& visit) {
  Position at(sizes.size(), 0);
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  for (int64_t n = 0; n < count; ++n) {
    visit(at);
    for (size_t i = sizes.size(); i-- > 0 && ++at[i] == sizes[i];) at[i] = 0;
  }
}

HloInstruction* sliced(HloInstruction* value, const Position& from, const Position& to, const Position& step) {
  Position sizes;
  for (size_t d = 0; d < from.size(); ++d) sizes.push_back((to[d] - from[d] + step[d] - 1) / step[d]);
  const Shape shape = ShapeUtil::MakeShape(value->shape().element_type(), sizes);
  return value->parent()->AddInstruction(HloInstruction::CreateSlice(shape, value, from, to, step));
}

bool pads(const xla::Window& window) {
  return xla::window_util::HasPadding(window) || xla::window_util::HasBaseDilation(window);
}

// A window's padding and base dilation written out; axes[i] is the dimension of `value` that window dimension i is about.
HloInstruction* padded(HloInstruction* value, HloInstruction* fill, const xla::Window& window, const Position& axes) {
  Position sizes(value->shape().dimensions().begin(), value->shape().dimensions().end());
  xla::PaddingConfig padding;
  for (size_t d = 0; d < sizes.size(); ++d) padding.add_dimensions();
  for (size_t i = 0; i < axes.size(); ++i) {
    const xla::WindowDimension& w = window.dimensions(i);
    auto* config = padding.mutable_dimensions(axes[i]);
    config->set_edge_padding_low(w.padding_low());
    config->set_edge_padding_high(w.padding_high());
    config->set_interior_padding(w.base_dilation() - 1);
    sizes[axes[i]] = w.padding_low() + w.padding_high() + (sizes[axes[i]] - 1) * w.base_dilation() + 1;
  }
  const Shape shape = ShapeUtil::MakeShape(value->shape().element_type(), sizes);
  return value->parent()->AddInstruction(HloInstruction::CreatePad(shape, value, fill, padding));
}

// Builds the arithmetic that takes one convolution's place, in the computation of the convolution.
class ShiftedConvolution {
 public:
  explicit ShiftedConvolution(HloInstruction* conv)
      : conv_(conv),
        numbers_(conv->convolution_dimension_numbers()),
        window_(conv->window()),
        computation_(conv->parent()),
        // Sums of narrow types are formed in f32, as libraries do.
        type_(conv->shape().element_type() == xla::F64 ? xla::F64 : xla::F32),
        input_(padded_input()),
        kernel_(as_type(conv->mutable_operand(1), type_)) {}

  HloInstruction* build() {
    HloInstruction* result = conv_->batch_group_count() > 1 ? sums_of_pairs() : sum_of_slices();
    return as_type(result, conv_->shape().element_type());
  }

 private:
  HloInstruction* add(std::unique_ptr<HloInstruction> instruction) {
    return computation_->AddInstruction(std::move(instruction));
  }

  Shape shape_of(std::vector<int64_t> dimensions) const { return ShapeUtil::MakeShape(type_, dimensions); }

  HloInstruction* as_type(HloInstruction* value, xla::PrimitiveType type) {
    if (value->shape().element_type() == type) return value;
    return add(HloInstruction::CreateConvert(ShapeUtil::ChangeElementType(value->shape(), type), value));
  }

  HloInstruction* binary(HloOpcode opcode, HloInstruction* a, HloInstruction* b) {
    return add(HloInstruction::CreateBinary(a->shape(), opcode, a, b));
  }

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
      for_each(sizes, [&](const Position& position) {
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

  HloInstruction* transposed(HloInstruction* value, const std::vector<int64_t>& order) {
    if (std::is_sorted(order.begin(), order.end())) return value;
    std::vector<int64_t> dimensions;
    for (int64_t d : order) dimensions.push_back(size_of(value, d));
    return add(HloInstruction::CreateTranspose(shape_of(dimensions), value, order));
  }

  // The right operand with its dimensions in the left one's order: output features where the batch is, input features
  // where the features are, reversed where the window is.
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

  // Sums over all dimensions but one, as a row. By a dot with ones: XLA:CPU fuses a reduction over the major dimensions
  // with what it reads, and then sums one element after the other.
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

  // One sum of products for each position of the result, put side by side.
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
    for_each(results, [&](const Position& position) {
      Position start;
      for (int64_t i = 0; i < spatial_rank(); ++i) start.push_back(position[i] * window_.dimensions(i).stride());
      HloInstruction* products = binary(HloOpcode::kMultiply, input_slice(input_, start, counts, dilations), kernel);
      rows.push_back(summed_but(products, numbers_.input_batch_dimension()));
    });
    const auto count = static_cast<int64_t>(rows.size());
    HloInstruction* table = add(HloInstruction::CreateConcatenate(shape_of({count, features}), rows, 0));
    // Positions and features, then the output's own order; its batch dimension has one element.
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
  xla::HloComputation* computation_;
  xla::PrimitiveType type_;
  HloInstruction *input_, *kernel_;
};

// A pooling's slices, combined.
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
  for_each(sizes, [&](const Position& position) {
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

bool can_shift(const HloInstruction& op) { return is_shiftable_convolution(op) || is_shiftable_reduction(op); }

}  // namespace

std::map<std::string, double> window_operations(const xla::HloModule& module) {
  std::map<std::string, double> found;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (can_shift(*instruction)) found[key_of(*instruction)] += elementwise_operations(*instruction);
  return found;
}

void apply_window_decisions(xla::HloModule& module, const Decisions& decisions) {
  std::map<std::string, bool> met;  // keys to rewrite
  for (const Decision& d : decisions) {
    if (!is_window_operation(d.kind, d.key)) continue;
    if (d.value == kShifted)
      met.emplace(d.key, false);
    else if (d.value != "default")
      throw Error("no way '" + d.value + "' to compute over windows", d.key, "default or shifted");
  }
  if (met.empty()) return;
  for (auto* computation : module.MakeComputationPostOrder())
    for (auto* instruction : computation->MakeInstructionPostOrder()) {
      if (!can_shift(*instruction)) continue;
      const auto decided = met.find(key_of(*instruction));
      if (decided == met.end()) continue;
      decided->second = true;
      HloInstruction* result = instruction->opcode() == HloOpcode::kConvolution
                                   ? ShiftedConvolution(instruction).build()
                                   : shifted_pooling(instruction);
      result->set_metadata(instruction->metadata());
      check(computation->ReplaceInstruction(instruction, result), "shifted windows");
    }
  for (const auto& [key, done] : met)
    if (!done) throw Error("the program has no such operation over windows", key);
}

}  // namespace hone::xla_side
