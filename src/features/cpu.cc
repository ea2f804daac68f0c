#include "features/cpu.h"

#include <unistd.h>

#include <algorithm>

#include "base/isa.h"
#include "features/columns.h"

namespace hone::features {
namespace {

int64_t cache_bytes(int name) { return std::max<int64_t>(::sysconf(name), 0); }

}  // namespace

const std::vector<Column>& cpu_columns() {
  static const std::vector<Column> columns = {
#define CPU(name, scale, value) {#name, Scale::scale},
#include "features/cpu_features.def"
#undef CPU
  };
  return columns;
}

Cpu this_cpu(int threads, const std::string& max_isa) {
  Cpu cpu;
  cpu.vector_bits = isa_vector_bits(isa_in_effect(max_isa));
  cpu.l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  cpu.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  cpu.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  cpu.threads = threads;
  return cpu;
}

std::vector<float> encode_cpu(const Cpu& c) {
  return {
#define CPU(name, scale, value) static_cast<float>(value),
#include "features/cpu_features.def"
#undef CPU
  };
}

}  // namespace hone::features
