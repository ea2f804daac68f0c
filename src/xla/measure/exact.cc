#include "measure/exact.h"

#include <cmath>

#include "decisions/dot_roles.h"
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

// An operand in f64, the last dimension contiguous.
struct Wide {
  xla::Literal literal;
  Index strides;

  explicit Wide(xla::Literal of) : literal(std::move(of)), strides(literal.shape().dimensions().size(), 1) {
    for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * literal.shape().dimensions(d);
  }
  const double* data() const { return literal.data<double>().data(); }
};

double convolution_at(const HloInstruction& conv, const Wide& input, const Wide& kernel, const Index& at) {
  const auto& numbers = conv.convolution_dimension_numbers();
  const auto& windows = conv.window().dimensions();
  const int64_t features = extent(conv.operand(1), numbers.kernel_input_feature_dimension());
  const int64_t result = at[numbers.output_feature_dimension()];
  const int64_t group = result / (extent(&conv, numbers.output_feature_dimension()) / conv.feature_group_count());
  const int64_t input_step = input.strides[numbers.input_feature_dimension()],
                kernel_step = kernel.strides[numbers.kernel_input_feature_dimension()];
  // Of groups of the batch, those of a group of results.
  const int64_t batch = extent(&conv, numbers.output_batch_dimension()),
                batch_group = result / (extent(&conv, numbers.output_feature_dimension()) / conv.batch_group_count());
  int64_t positions = 1;
  for (const auto& w : windows) positions *= w.size();
  double sum = 0;
  for (int64_t position = 0; position < positions; ++position) {
    const double* from =
        input.data() +
        (batch_group * batch + at[numbers.output_batch_dimension()]) * input.strides[numbers.input_batch_dimension()] +
        group * features * input_step;
    const double* weight = kernel.data() + result * kernel.strides[numbers.kernel_output_feature_dimension()];
    bool inside = true;
    int64_t rest = position;
    for (int i = windows.size() - 1; i >= 0; --i) {
      const auto& w = windows[i];
      const int64_t k = rest % w.size(), d = numbers.input_spatial_dimensions(i);
      rest /= w.size();
      const int64_t padded =
          at[numbers.output_spatial_dimensions(i)] * w.stride() + k * w.window_dilation() - w.padding_low();
      const int64_t place = padded / w.base_dilation();
      inside = inside && padded >= 0 && padded % w.base_dilation() == 0 && place < extent(conv.operand(0), d);
      if (!inside) break;
      from += place * input.strides[d];
      weight += (w.window_reversal() ? w.size() - 1 - k : k) * kernel.strides[numbers.kernel_spatial_dimensions(i)];
    }
    for (int64_t f = 0; inside && f < features; ++f) sum += from[f * input_step] * weight[f * kernel_step];
  }
  return sum;
}

// The distances from an operand's first element to those that are summed, the last contracted dimension first.
Index depth_offsets(const Wide& operand, const std::vector<int64_t>& contracting) {
  Index offsets = {0};
  for (const int64_t d : contracting) {
    const int64_t size = operand.literal.shape().dimensions(d);
    Index more;
    for (const int64_t offset : offsets)
      for (int64_t i = 0; i < size; ++i) more.push_back(offset + i * operand.strides[d]);
    offsets = std::move(more);
  }
  return offsets;
}

class ExactDot {
 public:
  ExactDot(const HloInstruction& dot, const Wide& left, const Wide& right)
      : left_(left),
        right_(right),
        left_roles_(left_roles(dot)),
        right_roles_(right_roles(dot)),
        left_offsets_(depth_offsets(left, left_roles_.contracting)),
        right_offsets_(depth_offsets(right, right_roles_.contracting)) {}

  double at(const Index& position) const {
    const double *from = left_.data(), *to = right_.data();
    size_t next = 0;
    for (size_t i = 0; i < left_roles_.batch.size(); ++i, ++next) {
      from += position[next] * left_.strides[left_roles_.batch[i]];
      to += position[next] * right_.strides[right_roles_.batch[i]];
    }
    for (const int64_t d : left_roles_.free) from += position[next++] * left_.strides[d];
    for (const int64_t d : right_roles_.free) to += position[next++] * right_.strides[d];
    double sum = 0;
    for (size_t k = 0; k < left_offsets_.size(); ++k) sum += from[left_offsets_[k]] * to[right_offsets_[k]];
    return sum;
  }

 private:
  const Wide &left_, &right_;
  DotRoles left_roles_, right_roles_;
  Index left_offsets_, right_offsets_;
};

xla::Literal in_f64(const HloInstruction& operand, const std::vector<xla::Literal>& inputs) {
  if (operand.opcode() == HloOpcode::kTranspose)
    return in_f64(*operand.operand(0), inputs).Transpose(operand.dimensions());
  if (operand.opcode() == HloOpcode::kReshape)
    return take(in_f64(*operand.operand(0), inputs).Reshape(operand.shape().dimensions()), "f64");
  if (operand.opcode() == HloOpcode::kConvert) return in_f64(*operand.operand(0), inputs);
  const xla::Literal& literal =
      operand.opcode() == HloOpcode::kConstant ? operand.literal() : inputs.at(operand.parameter_number());
  return take(literal.Convert(xla::F64), "f64");
}

Wide wide(const HloInstruction& operand, const std::vector<xla::Literal>& inputs) {
  xla::Literal literal = in_f64(operand, inputs);
  return Wide(literal.Relayout(xla::LayoutUtil::GetDefaultLayoutForShape(literal.shape())));
}

// Position n of `samples`. Every position of a tile of some power of two is among them: the step is odd.
Index sample(const xla::Shape& shape, int64_t n, int64_t samples) {
  const int64_t count = xla::ShapeUtil::ElementsIn(shape);
  int64_t rest = n * (count / samples | 1) % count;
  Index at(shape.dimensions().size());
  for (size_t d = at.size(); d-- > 0; rest /= shape.dimensions(d)) at[d] = rest % shape.dimensions(d);
  return at;
}

}  // namespace

std::optional<ExactSamples> exact_samples(const xla::HloModule& operation, const std::vector<xla::Literal>& inputs) {
  const HloInstruction& op = *operation.entry_computation()->root_instruction();
  const bool convolution = op.opcode() == HloOpcode::kConvolution;
  if (!convolution && op.opcode() != HloOpcode::kDot) return std::nullopt;
  if (!xla::primitive_util::IsFloatingPointType(op.shape().element_type())) return std::nullopt;
  const Wide left = wide(*op.operand(0), inputs), right = wide(*op.operand(1), inputs);
  std::optional<ExactDot> dot;
  if (!convolution) dot.emplace(op, left, right);
  ExactSamples exact;
  const int64_t samples = std::min(xla::ShapeUtil::ElementsIn(op.shape()), kSamples);
  for (int64_t n = 0; n < samples; ++n) {
    const Index at = sample(op.shape(), n, samples);
    exact.values.push_back(convolution ? convolution_at(op, left, right, at) : dot->at(at));
    exact.largest = std::max(exact.largest, std::fabs(exact.values.back()));
    exact.positions.push_back(at);
  }
  return exact;
}

double error_against(const ExactSamples& samples, const xla::Literal& output) {
  const xla::Literal found = take(output.Convert(xla::F64), "f64");
  double error = 0;
  for (size_t i = 0; i < samples.positions.size(); ++i)
    error = std::max(error, std::fabs(samples.values[i] - found.Get<double>(samples.positions[i])));
  return samples.largest > 0 ? error / samples.largest : 0;
}

}  // namespace hone::xla_side
