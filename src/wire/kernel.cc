#include "wire/kernel.h"

#include <algorithm>

#include "wire/client.h"

namespace hone::wire {

hone::Kernel from_wire(const KernelT& from) {
  hone::Kernel kernel;
  kernel.fingerprint = from.fingerprint;
  kernel.name = from.name;
  kernel.kind = from.kind;
  kernel.count = std::max(1, from.count);
  kernel.runs = from.runs > 0 ? from.runs : kernel.count;  // 0: not said
  kernel.outside_bytes = from.outside_bytes;
  kernel.hlo = from.hlo;
  kernel.flops = from.flops;
  kernel.bytes = from.bytes;
  kernel.bytes_read = from.bytes_read;
  kernel.bytes_written = from.bytes_written;
  kernel.transcendentals = from.transcendentals;
  kernel.module.assign(from.module_proto.begin(), from.module_proto.end());
  kernel.default_tile = from.default_tile;
  kernel.instructions = from.instructions;
  if (from.dimension) kernel.dimension = from_wire(*from.dimension);
  return kernel;
}

}  // namespace hone::wire
