// Random valid programs as HLO text: additional training data.
#pragma once

#include <cstdint>
#include <string>

namespace hone::collect {

// Kernel: one small graph that XLA fuses into one or a few kernels. Program: several layers in a row.
enum class GenerateKind : int8_t { Kernel, Program };
GenerateKind generate_kind_from_name(const std::string& name);  // "kernel", "program"; throws Error
const char* generate_kind_name(GenerateKind kind);

struct GenerateOptions {
  GenerateKind kind = GenerateKind::Kernel;
  uint64_t seed = 0;
  double max_elements = 1 << 21;  // of one array
};

// Name of program `index`: "generated-kernel-0-00012" (kind, seed, index).
std::string generated_name(const GenerateOptions& options, int index);

// HLO text of program `index`, the same for the same arguments and build. Values stay finite for inputs of
// ordinary size, so that outputs can be compared.
std::string generate_program(const GenerateOptions& options, int index);

}  // namespace hone::collect
