// The loops that make a kernel's result, and what is read, written and computed inside them: taken from the kernel's
// encoded form alone.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "data/kernel_view.h"

namespace hone::cost {

enum class KernelClass : int8_t { Elementwise = 0, Broadcast, Transpose, Reduce, Move, Dot, Convolution, Other };
inline constexpr int kKernelClasses = 8;
const char* kernel_class_name(KernelClass c);  // "elementwise", ...; Move is "concatenate/slice/pad"

// Loops over the output's dimensions, and over those that reductions sum up.
inline constexpr int kMaxAxes = 10;
using PerAxis = std::array<double, kMaxAxes>;

// One array as the loops walk it.
struct Access {
  PerAxis stride_bytes{};  // between neighbours along each axis; 0 = the axis does not move it
  double element_bytes = 4;
  bool written = false;
  bool operator==(const Access&) const = default;
};

// One instruction inside the loops.
struct Work {
  uint32_t depends = 0;  // axes that change its value, a bit each
  uint32_t scope = 0;    // axes of the loops it stands in
  double cost = 1;       // vector operations per element
  bool special = false;  // exp, tanh, ...
};

// The loops of a kernel and what stands in them. Axes are numbered output dimensions first, then reductions.
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
  bool few_rows = false;     // of the matrix a dot makes: libraries differ there
  double library_lanes = 1;  // share of vector lanes their shape can fill
};
// Throws Error when the view's widths are not those of the feature tables.
LoopNest loop_nest_of(const KernelView& kernel);

}  // namespace hone::cost
