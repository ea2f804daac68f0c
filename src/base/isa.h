// Instruction sets of x86-64 CPUs: which one this CPU has, and what --max-isa limits XLA to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// What --max-isa takes, the smallest first: sse4.2, avx2, avx512.
std::vector<std::string> max_isa_names();

// The widest that this CPU has: avx512, avx2, avx, sse4.2, sse2, or unknown where the CPU is no x86-64.
std::string cpu_isa();

// Of the code that XLA generates: the limit, or without one (empty) what this CPU has.
std::string isa_in_effect(const std::string& max_isa);

// Throws Error for a limit that is none of max_isa_names(), or one beyond `cpu`, a name of cpu_isa(). Empty = no limit.
void check_max_isa(const std::string& max_isa, const std::string& cpu);

// Whether a CPU with `cpu` (a name of cpu_isa()) has the instruction set `isa`; true for an empty one or another name.
bool has_isa(const std::string& cpu, const std::string& isa);

// A limit as XLA spells it in its option xla_cpu_max_isa. Throws Error for what is none of max_isa_names().
std::string xla_isa_name(const std::string& max_isa);

// Width of the vectors of an instruction set, by a name of cpu_isa(); 128 for unknown.
int64_t isa_vector_bits(const std::string& isa);

}  // namespace hone
