#include "measure/precision_error.h"

#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// In the order of the dimensions.
xla::Literal numbers(const xla::Literal& literal) {
  const xla::Literal wide = take(literal.Convert(xla::F64), "outputs");
  return wide.Relayout(xla::LayoutUtil::MakeDescendingLayout(wide.shape().dimensions().size()));
}

}  // namespace

OutputError output_error(const xla::Literal& exact, const xla::Literal& found) {
  const xla::Literal a = numbers(exact), b = numbers(found);
  const auto truth = a.data<double>(), value = b.data<double>();
  double squares = 0, sum = 0, largest = 0;
  int64_t counted = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(truth[i])) continue;
    const double difference = std::fabs(value[i] - truth[i]);
    squares += truth[i] * truth[i];
    sum += difference;
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    ++counted;
  }
  OutputError error;
  if (counted == 0) return error;
  const double scale = squares > 0 ? std::sqrt(squares / static_cast<double>(counted)) : 1;
  error.largest = largest / scale;
  error.mean = sum / static_cast<double>(counted) / scale;
  const auto& sizes = exact.shape().dimensions();
  if (sizes.empty() || sizes.back() < 2 || !xla::primitive_util::IsFloatingPointType(found.shape().element_type()))
    return error;
  const size_t row = sizes.back(), rows = truth.size() / row;
  size_t same = 0;
  for (size_t r = 0; r < rows; ++r) {
    const auto from = truth.begin() + r * row, other = value.begin() + r * row;
    same += std::max_element(from, from + row) - from == std::max_element(other, other + row) - other;
  }
  error.same_argmax = static_cast<double>(same) / static_cast<double>(rows);
  return error;
}

}  // namespace hone::xla_side
