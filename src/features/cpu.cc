#include "features/cpu.h"

#include "base/isa.h"
#include "base/machine.h"
#include "features/columns.h"

namespace hone::features {

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
  cpu.library_bits = isa_vector_bits(cpu_isa());
  cpu.l1_bytes = data_cache_bytes(1);
  cpu.l2_bytes = data_cache_bytes(2);
  cpu.l3_bytes = data_cache_bytes(3);
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
