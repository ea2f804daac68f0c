// The resources that one kernel uses on a CPU with one of its options: bytes moved between cache levels, operations, tiles.
// The analytical cost model (analytical.h) converts these counts to time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cost/loop_nest.h"
#include "features/cpu.h"

namespace hone::cost {

// The origin of the code: XLA's loop emitter, its tiled emitter, or a library.
enum class Emitter : int8_t { Loop = 0, Tiled, Library };
inline constexpr int kEmitters = 3;
const char* emitter_name(Emitter e);

// Of one run of a kernel.
struct ResourceCounts {
  Emitter emitter = Emitter::Loop;
  std::array<double, 3> bytes{};  // into the first cache from the second, into the second from the third, from memory
  double vector_ops = 0;          // instructions on full vectors
  double scalar_ops = 0;          // instructions that cannot be vectorised, one per element
  double special_ops = 0;         // polynomials on full vectors
  double spill_ops = 0;           // vector instructions on tiles that do not fit the registers
  double matmul_ops = 0;          // multiply-add instructions on full vectors
  double tiles = 0, rows = 0;     // number of tiles, number of innermost loops started
};
// `option` is one row of KernelView::tiles.
ResourceCounts count_resources(const LoopNest& kernel, std::span<const float> option, const features::Cpu& cpu);

// Bytes in whole cache lines that `access` touches while axis a takes `extent[a]` values.
double footprint_bytes(const Access& access, const PerAxis& extent);

}  // namespace hone::cost
