// Attention: of each query the softmax of its scores with all keys, times the values; no array of scores exists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/attention_rows.h"
#include "kernels/for_each.h"

namespace hone {

// Strides, in elements: of each dimension of the batch, of rows (queries or keys) and of what a row holds.
struct AttentionArray {
  std::vector<int64_t> batch;
  int64_t row = 0, column = 0;
};

// A step from a dot's result to the scores (ScoreStep); its arrays are operands, whose columns are keys with a stride of 0 or 1.
struct AttentionStep {
  ScoreStep::Kind kind = ScoreStep::Add;
  bool inverse = false, has_values = false, has_which = false;
  AttentionArray values = {}, which = {};
  float number = 0, other = 0;
};

// Of f32, masks of bytes. As text it is the configuration of a custom call.
struct AttentionPlan {
  std::vector<int64_t> batch;  // sizes
  int64_t queries = 0, keys = 0, depth = 0, features = 0;
  AttentionArray query, key, value, output;
  float scale = 1;  // of the queries
  std::vector<AttentionStep> steps;

  std::string text() const;
  // Throws Error for what text() does not write, or strides that do not fit.
  static AttentionPlan from_text(std::string_view text);
  // How many elements each operand must have: query, key, value, for each step its values and its mask, and the result.
  std::vector<int64_t> extents() const;
};

// By the widest vectors that the machine has. `operands` in the order of extents().
void compute_attention(const AttentionPlan& plan, const void* const* operands, float* output, int threads,
                       const ForEach& for_each);

}  // namespace hone
