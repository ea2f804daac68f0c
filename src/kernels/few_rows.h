// Products of a few rows of f32 with a matrix of another type, summed in f32: bound by the memory that the matrix takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

inline constexpr int64_t kMostRows = 4;

enum class RowsElement : int8_t { Bf16, F32, F16, S8 };

// As text it is the configuration of a custom call.
struct RowsPlan {
  int64_t rows = 0, depth = 0, columns = 0;
  bool by_column = false;  // the matrix is [columns, depth] instead of [depth, columns]
  RowsElement element = RowsElement::Bf16;

  std::string text() const;
  // Throws Error for what text() does not write, and for elements that this CPU does not read.
  static RowsPlan from_text(std::string_view text);
};

// Whether this CPU has instructions for such elements: f16 needs F16C.
bool reads_element(RowsElement element);

// rows: [rows, depth]; matrix: see RowsPlan; result: [rows, columns].
void multiply_rows(const RowsPlan& plan, const float* rows, const void* matrix, float* result);

}  // namespace hone
