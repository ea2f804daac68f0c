// The distinct kernels of a lowered module and what each can be.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graph/decision.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

struct KernelInfo {
  std::string fingerprint, name, kind;  // kind: "fusion", "dot", "convolution"
  int count = 0;
  std::vector<std::string> instructions;
  std::string hlo;           // a module of its own
  std::string module_proto;  // the same, serialised; empty unless asked for
  double flops = 0, bytes = 0;
  double transcendentals = 0, bytes_read = 0, bytes_written = 0;
  bool tiled = false;        // XLA's own emitter for it
  std::string default_tile;  // XLA's own tile, when tiled
  int64_t tiles = 0;         // legal tiles
  Dimension dimension;
};

// At most `max_tiles` tiles are listed per kernel (a space-filling sample, always the same for a kernel).
std::vector<KernelInfo> distinct_kernels(xla::HloModule& lowered, int threads, int max_tiles, bool want_protos = false);

// A kernel module from its text, ready for annotate() on the root and generate().
std::unique_ptr<xla::HloModule> kernel_module(const std::string& hlo);

}  // namespace hone::xla_side
