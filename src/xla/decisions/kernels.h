// The distinct kernels of a lowered module and the options of each.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decisions/compile_target.h"
#include "decisions/compiled.h"
#include "graph/decision.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

class CodeCache;

struct KernelInfo {
  std::string fingerprint, name, kind;  // kind: "fusion", "dot", "convolution"
  int count = 0;
  double runs = 0;           // in one run of the program
  double outside_bytes = 0;  // read in one run of the program from its parameters and constants
  std::vector<std::string> instructions;
  std::string hlo;           // a module of its own
  std::string module_proto;  // the same, serialised; empty unless asked for
  double flops = 0, bytes = 0;
  double transcendentals = 0, bytes_read = 0, bytes_written = 0;
  std::vector<double> operand_bytes;  // read of each operand
  bool tiled = false;                 // whether XLA's own choice is the tiled emitter
  std::string default_tile;           // XLA's own tile, when tiled
  int64_t tiles = 0;                  // legal tiles
  Dimension dimension;
};

// Caches kernels by fingerprint: listing a kernel's tiles takes longer than all passes over a small program, and most
// kernels are the same under another fusion. Valid for one thread count, one instruction set, one `max_tiles` and one
// `want_protos`.
class KernelMemory {
 public:
  const KernelInfo* find(const std::string& fingerprint) const;
  void add(const KernelInfo& kernel);  // clears the cache first when it has grown large

 private:
  std::unordered_map<std::string, KernelInfo> kernels_;
  size_t bytes_ = 0;
};

// At most `max_tiles` tiles are listed per kernel (a random sample, always the same for a kernel); with 0 they are not
// counted either.
std::vector<KernelInfo> distinct_kernels(xla::HloModule& lowered, int threads, int max_tiles, bool want_protos = false,
                                         KernelMemory* memory = nullptr);

// One kernel of any computation of a module, without name, count and weight.
KernelInfo describe_kernel(const xla::HloInstruction& kernel, const std::string& fingerprint, int threads,
                           int max_tiles, bool want_proto);

// A kernel module from its text, ready for annotate() on the root and generate().
std::unique_ptr<xla::HloModule> kernel_module(const std::string& hlo, const CompileTarget& target);

// Code generation of a kernel by itself, from its text, under one value of its decision (empty = default XLA's). `cache` and `objects`
// as generate() takes them. Throws StageError.
Compiled kernel_code(const std::string& hlo, const std::string& value, const CompileTarget& target, CodeCache* cache,
                     std::vector<std::string>* objects = nullptr);

}  // namespace hone::xla_side
