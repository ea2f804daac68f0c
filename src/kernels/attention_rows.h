// Attention of some rows of queries, compiled once for each width of vectors.
#pragma once

#include <cstdint>

namespace hone {

// A step from a dot's result to the scores, at (row, column) of arrays with these strides; those of columns are 0 or 1.
struct ScoreStep {
  enum Kind : uint8_t {
    Multiply,  // by the value
    Add,       // the value where `which` holds, `other` elsewhere
    Keep,      // scores where `which` holds; `other` elsewhere
  };
  Kind kind = Add;
  bool inverse = false;            // `which` holds where it is 0
  const float* values = nullptr;   // null: `number` everywhere
  const uint8_t* which = nullptr;  // null: holds everywhere
  int64_t values_row = 0, values_column = 0, which_row = 0, which_column = 0;
  float number = 0, other = 0;
};

// Rows of queries of one head with all its keys; strides and scratch in elements of f32.
struct AttentionRows {
  const float *query = nullptr, *key = nullptr, *value = nullptr;
  float* output = nullptr;
  int64_t query_row = 0, query_depth = 0, key_row = 0, key_depth = 0, value_row = 0, value_feature = 0, output_row = 0,
          output_feature = 0;
  int64_t rows = 0, keys = 0, depth = 0, features = 0;
  float scale = 1;  // of the queries
  const ScoreStep* steps = nullptr;
  int64_t step_count = 0;
};

struct AttentionKernel {
  int64_t (*scratch)(const AttentionRows& rows);
  void (*compute)(const AttentionRows& rows, float* scratch);  // aligned to 64 bytes
};

extern const AttentionKernel kAttentionAvx512, kAttentionAvx2, kAttentionPortable;

}  // namespace hone
