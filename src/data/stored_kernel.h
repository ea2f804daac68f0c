// Kernels and the programs they come from as stored in the database: enough to measure a kernel again and to encode it for
// a data set without the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/kernel.h"

namespace hone {

// One distinct kernel, as lowered for a number of threads (the fingerprint and this number are its key).
struct StoredKernel {
  std::string fingerprint;
  int threads = 1;
  std::string program, family;       // of its first occurrence
  std::string kind, name;            // kind: "fusion", "dot", "convolution"
  std::string decision;              // kind of its decision, "kernel" or "library"
  std::vector<std::string> options;  // values that can be measured
  int default_option = 0;
  std::string default_tile;  // XLA's own, "8,128", when its tiled emitter is the default; else empty
  double flops = 0, transcendentals = 0, bytes_read = 0, bytes_written = 0;  // of one run, by XLA's cost analysis
  std::string hlo, module_proto;  // the kernel as a module, as text and as a serialised HloModuleProto
};

// What models and measurements take of it: no program, no instructions, and of its options the default one.
Kernel kernel_of(const StoredKernel& stored);

// The properties of a stored kernel that a collection needs for planning.
struct StoredKernelSummary {
  std::string fingerprint, program;
  int options = 0;
};

// A program that kernels come from.
struct StoredProgram {
  std::string name, family, fingerprint;
  std::string content;         // hash of its file
  int64_t configurations = 0;  // number of fusion configurations lowered: XLA's own, then random ones
};

// The size (8 bytes, little-endian), then zlib's format. unpack_bytes throws Error for damaged data.
std::string pack_bytes(std::string_view bytes);
std::string unpack_bytes(std::string_view packed);

}  // namespace hone
