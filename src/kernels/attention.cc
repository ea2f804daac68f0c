#include "kernels/attention.h"

#include "kernels/instruction_sets.h"
#include "kernels/thread_memory.h"

namespace hone {
namespace {

constexpr int64_t kLeastQueries = 48;   // of a part: keys and values are packed for each
constexpr int64_t kMostQueries = 1024;  // of which queries and results stay in the second-level cache

const AttentionKernel& kernel() {
  static const AttentionKernel& widest = widest_kernel(kAttentionAvx512, kAttentionAvx2, kAttentionPortable);
  return widest;
}

// Where an element of the batch begins.
int64_t offset(const AttentionPlan& plan, const AttentionArray& array, int64_t element) {
  int64_t at = 0;
  for (size_t d = plan.batch.size(); d-- > 0; element /= plan.batch[d]) at += element % plan.batch[d] * array.batch[d];
  return at;
}

class Call {
 public:
  Call(const AttentionPlan& plan, const void* const* operands, float* output)
      : plan_(plan), operands_(operands), output_(output) {}

  // Rows [from, to) of one element of the batch.
  void compute(int64_t element, int64_t from, int64_t to) const {
    std::vector<ScoreStep> steps = steps_at(element, from);
    AttentionRows rows;
    rows.query = floats(0, plan_.query, element) + from * plan_.query.row;
    rows.key = floats(1, plan_.key, element);
    rows.value = floats(2, plan_.value, element);
    rows.output = output_ + offset(plan_, plan_.output, element) + from * plan_.output.row;
    rows.query_row = plan_.query.row, rows.query_depth = plan_.query.column;
    rows.key_row = plan_.key.row, rows.key_depth = plan_.key.column;
    rows.value_row = plan_.value.row, rows.value_feature = plan_.value.column;
    rows.output_row = plan_.output.row, rows.output_feature = plan_.output.column;
    rows.rows = to - from, rows.keys = plan_.keys, rows.depth = plan_.depth, rows.features = plan_.features;
    rows.scale = plan_.scale;
    rows.steps = steps.data();
    rows.step_count = static_cast<int64_t>(steps.size());
    kernel().compute(rows, thread_memory(kernel().scratch(rows)));
  }

 private:
  const float* floats(size_t operand, const AttentionArray& array, int64_t element) const {
    return static_cast<const float*>(operands_[operand]) + offset(plan_, array, element);
  }

  std::vector<ScoreStep> steps_at(int64_t element, int64_t row) const {
    std::vector<ScoreStep> steps;
    size_t operand = 3;
    for (const AttentionStep& step : plan_.steps) {
      ScoreStep at{.kind = step.kind, .inverse = step.inverse, .number = step.number, .other = step.other};
      if (step.has_values) {
        at.values = floats(operand++, step.values, element) + row * step.values.row;
        at.values_row = step.values.row, at.values_column = step.values.column;
      }
      if (step.has_which) {
        at.which = static_cast<const uint8_t*>(operands_[operand++]) + offset(plan_, step.which, element) +
                   row * step.which.row;
        at.which_row = step.which.row, at.which_column = step.which.column;
      }
      steps.push_back(at);
    }
    return steps;
  }

  const AttentionPlan& plan_;
  const void* const* operands_;
  float* output_;
};

}  // namespace

void compute_attention(const AttentionPlan& plan, const void* const* operands, float* output, int threads,
                       const ForEach& for_each) {
  int64_t elements = 1;
  for (const int64_t size : plan.batch) elements *= size;
  // As many parts of each element as give every thread the same work, or nearly.
  int64_t parts = (plan.queries + kMostQueries - 1) / kMostQueries;
  if (threads > 1)
    while (elements * parts % threads != 0 && elements * parts < 8 * threads &&
           plan.queries / (parts + 1) >= kLeastQueries)
      ++parts;
  const Call call(plan, operands, output);
  const auto work = [&](size_t i) {
    const int64_t element = static_cast<int64_t>(i) / parts, part = static_cast<int64_t>(i) % parts;
    call.compute(element, plan.queries * part / parts, plan.queries * (part + 1) / parts);
  };
  if (threads > 1 && for_each) return for_each(elements * parts, work);
  for (int64_t i = 0; i < elements * parts; ++i) work(i);
}

}  // namespace hone
