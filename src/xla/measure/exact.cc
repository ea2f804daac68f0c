#include "measure/exact.h"

#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using Index = std::vector<int64_t>;

constexpr int64_t kSamples = 1024;

int64_t extent(const HloInstruction* value, int64_t dimension) { return value->shape().dimensions(dimension); }

// The literals hold f64.
double convolution_at(const HloInstruction& conv, const xla::Literal& input, const xla::Literal& kernel,
                      const Index& at) {
  const auto& numbers = conv.convolution_dimension_numbers();
  const auto& windows = conv.window().dimensions();
  const int64_t features = extent(conv.operand(1), numbers.kernel_input_feature_dimension());
  const int64_t result = at[numbers.output_feature_dimension()];
  const int64_t group = result / (extent(&conv, numbers.output_feature_dimension()) / conv.feature_group_count());
  Index from(at.size()), weight(at.size());
  from[numbers.input_batch_dimension()] = at[numbers.output_batch_dimension()];
  weight[numbers.kernel_output_feature_dimension()] = result;
  int64_t positions = 1;
  for (const auto& w : windows) positions *= w.size();
  double sum = 0;
  for (int64_t position = 0; position < positions; ++position) {
    bool inside = true;
    int64_t rest = position;
    for (int i = windows.size() - 1; i >= 0; --i) {
      const auto& w = windows[i];
      const int64_t k = rest % w.size(), d = numbers.input_spatial_dimensions(i);
      rest /= w.size();
      const int64_t padded =
          at[numbers.output_spatial_dimensions(i)] * w.stride() + k * w.window_dilation() - w.padding_low();
      from[d] = padded / w.base_dilation();
      inside = inside && padded >= 0 && padded % w.base_dilation() == 0 && from[d] < extent(conv.operand(0), d);
      weight[numbers.kernel_spatial_dimensions(i)] = w.window_reversal() ? w.size() - 1 - k : k;
    }
    for (int64_t f = 0; inside && f < features; ++f) {
      from[numbers.input_feature_dimension()] = group * features + f;
      weight[numbers.kernel_input_feature_dimension()] = f;
      sum += input.Get<double>(from) * kernel.Get<double>(weight);
    }
  }
  return sum;
}

double dot_at(const HloInstruction& dot, const xla::Literal& lhs, const xla::Literal& rhs, const Index& at) {
  const auto& numbers = dot.dot_dimension_numbers();
  Index left(lhs.shape().dimensions().size()), right(rhs.shape().dimensions().size());
  size_t next = 0;
  for (int i = 0; i < numbers.lhs_batch_dimensions_size(); ++i)
    left[numbers.lhs_batch_dimensions(i)] = right[numbers.rhs_batch_dimensions(i)] = at[next++];
  const auto fill_free = [&](Index& index, const auto& batch, const auto& contracting) {
    for (int64_t d = 0; d < static_cast<int64_t>(index.size()); ++d)
      if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
          std::find(contracting.begin(), contracting.end(), d) == contracting.end())
        index[d] = at[next++];
  };
  fill_free(left, numbers.lhs_batch_dimensions(), numbers.lhs_contracting_dimensions());
  fill_free(right, numbers.rhs_batch_dimensions(), numbers.rhs_contracting_dimensions());
  int64_t depth = 1;
  for (int64_t d : numbers.lhs_contracting_dimensions()) depth *= lhs.shape().dimensions(d);
  double sum = 0;
  for (int64_t k = 0; k < depth; ++k) {
    int64_t rest = k;
    for (int i = numbers.lhs_contracting_dimensions_size() - 1; i >= 0; --i) {
      const int64_t l = numbers.lhs_contracting_dimensions(i), size = lhs.shape().dimensions(l);
      left[l] = right[numbers.rhs_contracting_dimensions(i)] = rest % size;
      rest /= size;
    }
    sum += lhs.Get<double>(left) * rhs.Get<double>(right);
  }
  return sum;
}

xla::Literal in_f64(const HloInstruction& operand, const std::vector<xla::Literal>& inputs) {
  if (operand.opcode() == HloOpcode::kTranspose)
    return in_f64(*operand.operand(0), inputs).Transpose(operand.dimensions());
  if (operand.opcode() == HloOpcode::kReshape)
    return take(in_f64(*operand.operand(0), inputs).Reshape(operand.shape().dimensions()), "f64");
  const xla::Literal& literal =
      operand.opcode() == HloOpcode::kConstant ? operand.literal() : inputs.at(operand.parameter_number());
  return take(literal.Convert(xla::F64), "f64");
}

}  // namespace

std::optional<double> error_against_f64(const xla::HloModule& operation, const std::vector<xla::Literal>& inputs,
                                        const xla::Literal& output) {
  const HloInstruction& op = *operation.entry_computation()->root_instruction();
  const bool convolution = op.opcode() == HloOpcode::kConvolution && op.batch_group_count() == 1;
  if (!convolution && op.opcode() != HloOpcode::kDot) return std::nullopt;
  if (!xla::primitive_util::IsFloatingPointType(op.shape().element_type())) return std::nullopt;
  const xla::Literal left = in_f64(*op.operand(0), inputs), right = in_f64(*op.operand(1), inputs),
                     found = take(output.Convert(xla::F64), "f64");
  const int64_t count = xla::ShapeUtil::ElementsIn(op.shape()), samples = std::min(count, kSamples);
  double largest = 0, error = 0;
  for (int64_t n = 0; n < samples; ++n) {
    // Every position of a tile of some power of two is among them: the step is odd.
    int64_t rest = n * (count / samples | 1) % count;
    Index at(op.shape().dimensions().size());
    for (size_t d = at.size(); d-- > 0; rest /= extent(&op, d)) at[d] = rest % extent(&op, d);
    const double exact = convolution ? convolution_at(op, left, right, at) : dot_at(op, left, right, at);
    largest = std::max(largest, std::fabs(exact));
    error = std::max(error, std::fabs(exact - found.Get<double>(at)));
  }
  return largest > 0 ? error / largest : 0;
}

}  // namespace hone::xla_side
