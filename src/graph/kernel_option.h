// One option of a kernel, as written in codegen and library decisions: "default", "loop", "tile=8,8;slp=0", "eigen".
// The only parser and printer of this form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone {

struct KernelOption {
  // The emitter or library of the kernel's code. Default: XLA's own choice.
  enum class Emitter : int8_t { Default = 0, Loop, Tiled, Eigen, Ynnpack, Llvm, Naive };

  Emitter emitter = Emitter::Default;
  std::vector<int64_t> tile;   // of the tiled emitter: sizes, those of the output last
  bool unroll = true;          // LLVM may unroll loops
  bool slp = true;             // LLVM's SLP vectorizer runs
  bool optimize_size = false;  // LLVM optimizes for size
  int64_t partitions = 0;      // of the outermost dimensions, run in parallel; 0 = XLA's own number

  // Throws Error naming the part that is not an option (where = the whole text).
  static KernelOption parse(const std::string& text);
  // The same, but nullopt for other text.
  static std::optional<KernelOption> try_parse(const std::string& text);
  bool operator==(const KernelOption&) const = default;

  bool is_library() const { return emitter >= Emitter::Eigen; }
  // Everything but the emitter and the tile, in canonical form: "" or ";unroll=0;slp=0".
  std::string flags_text() const;
};

std::string to_text(const KernelOption& option);  // canonical: parse(to_text(x)) == x
// "default", "loop", "tile", "eigen", "ynn", "llvm", "naive".
const char* emitter_name(KernelOption::Emitter emitter);

// "8,128" -> {8, 128}; empty for the empty text. Throws Error for anything that is not a list of positive numbers.
std::vector<int64_t> tile_from_text(const std::string& text);
std::string tile_text(const std::vector<int64_t>& tile);  // "8,128"

}  // namespace hone
