#include "service/to_wire.h"

namespace hone::xla_side {

std::unique_ptr<wire::DimensionT> to_wire_dimension(const Dimension& dimension) {
  auto out = std::make_unique<wire::DimensionT>();
  out->kind = static_cast<wire::DecisionKind>(dimension.kind);
  out->key = dimension.key;
  out->options = dimension.options;
  out->default_option = dimension.default_option;
  out->weight = dimension.weight;
  return out;
}

std::unique_ptr<wire::KernelT> to_wire_kernel(KernelInfo kernel) {
  auto out = std::make_unique<wire::KernelT>();
  out->dimension = to_wire_dimension(kernel.dimension);
  out->fingerprint = kernel.fingerprint;
  out->name = kernel.name;
  out->kind = kernel.kind;
  out->count = kernel.count;
  out->hlo = std::move(kernel.hlo);
  out->flops = kernel.flops;
  out->bytes = kernel.bytes;
  out->tiled = kernel.tiled;
  out->default_tile = kernel.default_tile;
  out->tiles = kernel.tiles;
  out->instructions = kernel.instructions;
  out->module_proto.assign(kernel.module_proto.begin(), kernel.module_proto.end());
  out->transcendentals = kernel.transcendentals;
  out->bytes_read = kernel.bytes_read;
  out->bytes_written = kernel.bytes_written;
  return out;
}

}  // namespace hone::xla_side
