// What one kernel asks of a CPU under one of its options, counted from its encoded form alone: bytes moved between cache
// levels, operations, tiles. The analytical cost model (analytical.h) turns these counts into time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "features/cpu.h"

namespace hone::cost {

enum class KernelClass : int8_t { Elementwise = 0, Broadcast, Transpose, Reduce, Move, Dot, Convolution, Other };
inline constexpr int kKernelClasses = 8;
const char* kernel_class_name(KernelClass c);  // "elementwise", ...; Move is "concatenate/slice/pad"

// How the code is made: XLA's loop emitter, its tiled emitter, or a library.
enum class Emitter : int8_t { Loop = 0, Tiled, Library };
inline constexpr int kEmitters = 3;
const char* emitter_name(Emitter e);

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

// A kernel taken apart. Axes are numbered output dimensions first, then reductions.
struct KernelAnatomy {
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
KernelAnatomy anatomy_of(const KernelView& kernel);

struct Demand {
  Emitter emitter = Emitter::Loop;
  std::array<double, 3> bytes{};  // into the first cache from the second, into the second from the third, from memory
  double vector_ops = 0;          // instructions on full vectors
  double scalar_ops = 0;          // instructions that cannot be vectorised, an element each
  double special_ops = 0;         // polynomials on full vectors
  double spill_ops = 0;           // vector instructions on tiles that do not fit the registers
  double matmul_ops = 0;          // multiply-add instructions on full vectors
  double tiles = 0, rows = 0;     // starts of a tile, starts of an innermost loop
};
// `option` is one row of KernelView::tiles.
Demand demand_of(const KernelAnatomy& kernel, std::span<const float> option, const features::Cpu& cpu);

// Bytes in whole cache lines that `access` touches while axis a takes `extent[a]` values.
double footprint_bytes(const Access& access, const PerAxis& extent);

}  // namespace hone::cost
