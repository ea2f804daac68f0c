#include "kernels/dnnl_parts.h"

#include <algorithm>

namespace hone {
namespace {

constexpr int64_t kLeastRows = 16;  // of a part of a product: a kernel computes as many at once

// Rows [from, to) of the first spatial dimension of one image's result. False where a part would read padding alone.
bool cut_rows(const DnnlPlan& plan, int64_t from, int64_t to, DnnlPart& part) {
  const int64_t height = plan.input.sizes[2], window = plan.weights.sizes[plan.groups > 1 ? 3 : 2];
  const int64_t first = from * plan.strides[0] - plan.pad_low[0];
  const int64_t last = (to - 1) * plan.strides[0] - plan.pad_low[0] + (window - 1) * plan.dilation[0] + 1;
  const int64_t begin = std::max<int64_t>(first, 0), end = std::min(last, height);
  if (begin >= end) return false;
  part.plan.input.sizes[2] = end - begin;
  part.plan.output.sizes[2] = to - from;
  for (DnnlArray* array : {&part.plan.input, &part.plan.output})
    array->strides[0] = array->sizes[2] * array->strides[2];
  part.plan.pad_low[0] = begin - first;
  part.plan.pad_high[0] = last - end;
  part.input_offset = begin * plan.input.strides[2];
  part.output_offset = from * plan.output.strides[2];
  return true;
}

// [from, to) of a dimension that input and result have in common.
void cut_shared(const DnnlPlan& plan, int64_t from, int64_t to, DnnlPart& part) {
  part.plan.input.sizes[0] = part.plan.output.sizes[0] = to - from;
  part.input_offset = from * plan.input.strides[0];
  part.output_offset = from * plan.output.strides[0];
}

void cut_columns(const DnnlPlan& plan, int64_t from, int64_t to, DnnlPart& part) {
  part.plan.weights.sizes[1] = part.plan.output.sizes[1] = to - from;
  part.weights_offset = from * plan.weights.strides[1];
  part.output_offset = from * plan.output.strides[1];
  part.channel_offset = from;
}

}  // namespace

std::vector<DnnlPart> parts_of(const DnnlPlan& plan) {
  const std::vector<DnnlPart> whole = {{plan}};
  if (plan.threads == 1) return whole;
  const int64_t first = plan.output.sizes[0];
  const bool shared = plan.is_convolution() ? first > 1 : first >= kLeastRows * plan.threads;
  const int64_t size = shared ? first : plan.output.sizes[plan.is_convolution() ? 2 : 1];
  const int64_t count = std::min<int64_t>(plan.threads, size);
  std::vector<DnnlPart> parts;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = size * i / count, to = size * (i + 1) / count;
    DnnlPart part{plan};
    if (shared)
      cut_shared(plan, from, to, part);
    else if (!plan.is_convolution())
      cut_columns(plan, from, to, part);
    else if (!cut_rows(plan, from, to, part))
      return whole;
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace hone
