// How a program is compiled and how its parameters are passed.
#pragma once

#include <string>
#include <vector>

namespace hone::xla_side {

struct CompileTarget {
  int threads = 1;
  bool allow_fast_math = false;
  std::vector<int> weights;  // parameters the user declared constant between calls
  std::string max_isa;       // of the code that XLA generates, as --max-isa takes it; empty = no limit
  std::string cpu = {};      // that a kernel by itself is compiled for, as LLVM calls it; empty = this one
};

// How each parameter is stored for the tuned program. Packed: YNNPACK packs it once for the dots that read it, and reads it no
// more while it stays at its address.
enum class Storage { AsIs, Transposed, Packed, Constant };

}  // namespace hone::xla_side
