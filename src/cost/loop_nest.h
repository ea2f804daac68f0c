// The loop nest of a kernel, and the data read, written and computed in it, derived from the kernel's encoded form only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/kernel_view.h"

namespace hone::cost {

enum class KernelClass : int8_t { Elementwise = 0, Broadcast, Transpose, Reduce, Move, Dot, Convolution, Other };
inline constexpr int kKernelClasses = 8;
const char* kernel_class_name(KernelClass c);  // "elementwise", ...; Move is "concatenate/slice/pad"

// Loops over the output's dimensions and over reduced dimensions.
inline constexpr int kMaxAxes = 10;
using PerAxis = std::array<double, kMaxAxes>;

// The access of the loops to one array.
struct Access {
  PerAxis stride_bytes{};  // between neighbours along each axis; 0 = independent of the axis
  double element_bytes = 4;
  bool written = false;
  bool operator==(const Access&) const = default;
};

// One instruction inside the loops.
struct Work {
  uint32_t depends = 0;  // axes that its value depends on, one bit each
  uint32_t scope = 0;    // axes of the loops around it
  double cost = 1;       // vector operations per element
  bool special = false;  // exp, tanh, ...
};

// The loops of a kernel and their content. Axes are numbered output dimensions first, then reductions.
struct LoopNest {
  KernelClass kind = KernelClass::Other;
  int outputs = 0;             // output dimensions
  std::vector<double> extent;  // [axes]
  std::vector<int> order;      // output axes, outermost first
  std::vector<Access> accesses;
  std::vector<Work> work;
  bool reduces_minor = false;
  double element_bytes = 4;  // of the output
  double flops = 0;          // of dots and convolutions
  double bytes = 0;          // read and written, by XLA's cost analysis
  bool few_rows = false;     // in the output of a dot, where libraries differ
  double library_lanes = 1;  // share of vector lanes that libraries can use for this shape
};
// Throws Error if the view's widths differ from those of the feature tables.
LoopNest loop_nest_of(const KernelView& kernel);

}  // namespace hone::cost
