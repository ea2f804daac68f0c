#include "base/isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace hone {

namespace {

struct Isa {
  const char* name;
  const char* xla;  // null: no limit has this name
  int64_t vector_bits;
};

// Each has what those before it have.
constexpr std::array kIsas = {
    Isa{"unknown", nullptr, 128}, Isa{"sse2", nullptr, 128}, Isa{"sse4.2", "SSE4_2", 128},
    Isa{"avx", nullptr, 256},     Isa{"avx2", "AVX2", 256},  Isa{"avx512", "AVX512", 512},
};

// The place of a name in the table; that of "unknown" for any other.
size_t place_of(const std::string& name) {
  const auto found = std::find_if(kIsas.begin(), kIsas.end(), [&](const Isa& isa) { return name == isa.name; });
  return found == kIsas.end() ? 0 : found - kIsas.begin();
}

}  // namespace

std::string cpu_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "avx512";
  if (__builtin_cpu_supports("avx2")) return "avx2";
  if (__builtin_cpu_supports("avx")) return "avx";
  return __builtin_cpu_supports("sse4.2") ? "sse4.2" : "sse2";
#else
  return "unknown";
#endif
}

std::vector<std::string> max_isa_names() {
  std::vector<std::string> names;
  for (const Isa& isa : kIsas)
    if (isa.xla) names.emplace_back(isa.name);
  return names;
}

std::string isa_in_effect(const std::string& max_isa) { return max_isa.empty() ? cpu_isa() : max_isa; }

void check_max_isa(const std::string& max_isa, const std::string& cpu) {
  if (max_isa.empty()) return;
  xla_isa_name(max_isa);
  if (!has_isa(cpu, max_isa))
    throw Error(fmt::format("this CPU has no {}", max_isa), "--max-isa", fmt::format("the widest it has is {}", cpu));
}

bool has_isa(const std::string& cpu, const std::string& isa) { return place_of(isa) <= place_of(cpu); }

std::string xla_isa_name(const std::string& max_isa) {
  const Isa& isa = kIsas[place_of(max_isa)];
  if (!isa.xla) throw Error(fmt::format("'{}' is none of {}", max_isa, fmt::join(max_isa_names(), ", ")), "--max-isa");
  return isa.xla;
}

int64_t isa_vector_bits(const std::string& isa) { return kIsas[place_of(isa)].vector_bits; }

}  // namespace hone
