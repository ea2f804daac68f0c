// Products of a few rows of f32 with a matrix of bf16 or f32, summed in f32: bound by the memory that the matrix takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

inline constexpr int64_t kMostRows = 4;

// As text it is the configuration of a custom call.
struct RowsPlan {
  int64_t rows = 0, depth = 0, columns = 0;
  bool by_column = false;  // the matrix is [columns, depth] instead of [depth, columns]
  bool wide = false;       // it is of f32 instead of bf16

  std::string text() const;
  // Throws Error for what text() does not write.
  static RowsPlan from_text(std::string_view text);
};

// rows: [rows, depth]; matrix: see RowsPlan; result: [rows, columns].
void multiply_rows(const RowsPlan& plan, const float* rows, const void* matrix, float* result);

}  // namespace hone
