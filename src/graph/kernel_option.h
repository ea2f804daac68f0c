// One option of a kernel, as the values of codegen and library decisions spell it: "default", "loop", "tile=8,8;slp=0", "eigen".
// The only parser and the only printer of such texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

struct KernelOption {
  // Who makes the kernel's code. Default: whatever XLA does by itself.
  enum class Emitter : int8_t { Default = 0, Loop, Tiled, Eigen, Ynnpack, Llvm, Naive };

  Emitter emitter = Emitter::Default;
  std::vector<int64_t> tile;   // of the tiled emitter: sizes, those of the output last
  bool unroll = true;          // LLVM may unroll loops
  bool slp = true;             // LLVM's SLP vectorizer runs
  bool optimize_size = false;  // LLVM optimizes for size
  int64_t partitions = 0;      // of the outermost dimensions, run in parallel; 0 = XLA's own number

  // Throws Error naming the part that is no option, with the whole text as the place.
  static KernelOption parse(const std::string& text);
  // Nothing for a text that is no option of a kernel.
  static std::optional<KernelOption> try_parse(const std::string& text);
  bool operator==(const KernelOption&) const = default;

  bool is_library() const { return emitter >= Emitter::Eigen; }
  // Everything but who makes the code and in which tile, in its canonical spelling: "" or ";unroll=0;slp=0".
  std::string flags_text() const;
};

std::string to_text(const KernelOption& option);  // canonical: parse(to_text(x)) == x
// "default", "loop", "tile", "eigen", "ynn", "llvm", "naive".
const char* emitter_name(KernelOption::Emitter emitter);

// "8,128" -> {8, 128}; empty for the empty text. Throws Error for anything that is not a list of positive numbers.
std::vector<int64_t> tile_from_text(const std::string& text);
std::string tile_text(const std::vector<int64_t>& tile);  // "8,128"

}  // namespace hone
