#include "service/to_wire.h"

#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {

CompileTarget target_of(const wire::TargetT* target) {
  CompileTarget out;
  if (target == nullptr) return out;
  out.threads = std::max(1, target->threads);
  out.allow_fast_math = target->allow_fast_math;
  out.weights.assign(target->weights.begin(), target->weights.end());
  out.max_isa = target->max_isa;
  return out;
}

uint64_t seed_of(const wire::TargetT* target) { return target ? target->seed : 0; }

xla::Literal to_literal(const wire::ArrayT& array, size_t number) {
  auto type = take(xla::primitive_util::StringToPrimitiveType(array.type), "input " + std::to_string(number), true);
  xla::Literal literal(xla::ShapeUtil::MakeShapeWithDescendingLayout(type, array.dims));
  if (literal.size_bytes() != static_cast<int64_t>(array.data.size()))
    throw Error("input " + std::to_string(number) + " has " + std::to_string(array.data.size()) +
                " bytes, its shape needs " + std::to_string(literal.size_bytes()));
  memcpy(literal.untyped_data(), array.data.data(), array.data.size());
  return literal;
}

std::unique_ptr<wire::ArrayT> to_wire_array(const xla::Literal& literal) {
  auto array = std::make_unique<wire::ArrayT>();
  const auto& shape = literal.shape();
  array->type = xla::primitive_util::LowercasePrimitiveTypeName(shape.element_type());
  array->dims.assign(shape.dimensions().begin(), shape.dimensions().end());
  const auto* data = static_cast<const uint8_t*>(literal.untyped_data());
  array->data.assign(data, data + literal.size_bytes());
  return array;
}

std::vector<std::unique_ptr<wire::CountT>> count_opcodes(const xla::HloModule& module) {
  std::map<std::string, int64_t> by_opcode;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      ++by_opcode[std::string(xla::HloOpcodeString(instruction->opcode()))];
  std::vector<std::unique_ptr<wire::CountT>> counts;
  for (auto& [name, count] : by_opcode) {
    counts.push_back(std::make_unique<wire::CountT>());
    counts.back()->name = name;
    counts.back()->count = count;
  }
  return counts;
}

std::vector<uint8_t> to_wire_proto(const xla::HloModule& module) {
  const std::string proto = module.ToProto().SerializeAsString();
  return {proto.begin(), proto.end()};
}

std::unique_ptr<wire::DimensionT> to_wire_dimension(const Dimension& dimension) {
  auto out = std::make_unique<wire::DimensionT>();
  out->kind = static_cast<wire::DecisionKind>(dimension.kind);
  out->key = dimension.key;
  out->options = dimension.options;
  out->default_option = dimension.default_option;
  out->weight = dimension.weight;
  out->count = dimension.count;
  out->weights = dimension.weights;
  return out;
}

std::unique_ptr<wire::KernelT> to_wire_kernel(KernelInfo kernel) {
  auto out = std::make_unique<wire::KernelT>();
  out->dimension = to_wire_dimension(kernel.dimension);
  out->fingerprint = kernel.fingerprint;
  out->name = kernel.name;
  out->kind = kernel.kind;
  out->count = kernel.count;
  out->runs = kernel.runs;
  out->outside_bytes = kernel.outside_bytes;
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
