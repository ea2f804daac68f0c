// The machine's properties as features of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::features {

struct Cpu {
  int64_t vector_bits = 128;   // widest vectors of the code that XLA generates
  int64_t library_bits = 128;  // of the CPU, which libraries and Hone's kernels use whatever limit there is
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // data caches; 0 = unknown
  int64_t threads = 1;                               // that the program may use
  bool operator==(const Cpu&) const = default;
};

// This machine, with `threads` as given, and with the vectors of a limited instruction set (base/isa.h; empty = no limit).
Cpu this_cpu(int threads, const std::string& max_isa = "");

// As features. No model reads them yet.
std::vector<float> encode_cpu(const Cpu& cpu);  // [cpu_columns().size()]

}  // namespace hone::features
