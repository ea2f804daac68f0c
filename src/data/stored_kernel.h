// Kernels and the programs they come from, as the database keeps them: enough to measure a kernel again and to encode it
// for a data set, without the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// One distinct kernel, as lowered for a number of threads (the fingerprint and this number are its key).
struct StoredKernel {
  std::string fingerprint;
  int threads = 1;
  std::string program, family;       // names of where it was first seen
  std::string kind, name;            // kind: "fusion", "dot", "convolution"
  std::string decision;              // kind of its decision, "kernel" or "library"
  std::vector<std::string> options;  // values that can be measured
  int default_option = 0;
  std::string default_tile;  // XLA's own, "8,128", when its tiled emitter is the default; else empty
  double flops = 0, transcendentals = 0, bytes_read = 0, bytes_written = 0;  // of one run, by XLA's cost analysis
  std::string hlo, module_proto;  // a module of its own, as text and as a serialised HloModuleProto
};

// What a collection must know of a stored kernel to plan its work.
struct StoredKernelSummary {
  std::string fingerprint, program;
  int options = 0;
};

// One program kernels were taken from.
struct StoredProgram {
  std::string name, family, fingerprint;
  std::string content;         // hash of its file
  int64_t configurations = 0;  // fusion configurations looked at: the first is XLA's own, the others are random
};

// zlib's format behind the size (8 bytes, little-endian). unpack_bytes throws Error for damaged data.
std::string pack_bytes(std::string_view bytes);
std::string unpack_bytes(std::string_view packed);

}  // namespace hone
