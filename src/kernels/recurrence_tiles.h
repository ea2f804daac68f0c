// Tiles of a step of a recurrent loop: some rows and columns of all values of a group, compiled once for each width of vectors.
#pragma once

#include <cstdint>

namespace hone {

// What a value is made by. Comparisons give 1 or 0; Select takes the second value where the first is not 0, else the third.
enum class StepOp : uint8_t {
  Carried,
  Read,
  Number,
  Dot,
  Negate,
  Absolute,
  Exponential,
  Tanh,
  Logistic,
  Add,
  Subtract,
  Multiply,
  Divide,
  Maximum,
  Minimum,
  Equal,
  Less,
  LessEqual,
  Select,
};
inline constexpr int kStepOps = static_cast<int>(StepOp::Select) + 1;
// Of those that compute element by element, how many values they are made of; 0: of others.
constexpr int elementwise_operands(StepOp op) {
  if (op == StepOp::Select) return 3;
  if (op >= StepOp::Add) return 2;
  return op >= StepOp::Negate ? 1 : 0;
}

// Memory of [rows, columns]. Even and odd steps may have another one.
struct TilePlace {
  float* even = nullptr;
  float* odd = nullptr;
  int64_t step = 0, row = 0, column = 0;  // strides in elements
  bool padded = false;  // columns lie side by side, and whole vectors may be read and written behind the last one
};

struct TileOp {
  enum Kind : uint8_t { Load, Fill, Product, Compute, Store };
  Kind kind = Compute;
  StepOp op = StepOp::Add;
  int out = -1, a = -1, b = -1, c = -1;  // slots
  int place = -1;                        // Load, Store; Product: its left side
  int matrix = -1;                       // Product: its right side
  int64_t depth = 0;                     // Product
  float number = 0;                      // Fill
};

struct Tile {
  const TileOp* ops = nullptr;
  int64_t count = 0;
  const TilePlace* places = nullptr;
  const float* const* panels = nullptr;  // of each matrix
  int64_t step = 0;
  int64_t row = 0, rows = 0;        // at most the kernel's
  int64_t column = 0, columns = 0;  // the first one begins a panel
  float* slots = nullptr;  // each of rows * columns, the latter rounded up to whole vectors; aligned to 64 bytes
};

struct RecurrenceKernel {
  int64_t lanes, rows;
  // Columns in panels of two vectors, from [depth, columns] with these strides.
  void (*pack)(const float* from, int64_t depth_stride, int64_t column_stride, int64_t depth, int64_t columns,
               float* to);
  void (*compute)(const Tile& tile);
};

extern const RecurrenceKernel kRecurrenceAvx512, kRecurrenceAvx2, kRecurrencePortable;

}  // namespace hone
