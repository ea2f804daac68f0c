#include "decisions/fingerprints.h"

#include <cstring>

#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// Digest of text: two FNV-1a streams, 128 bits in hex.
std::string digest(const std::string& text) {
  uint64_t a = 1469598103934665603ull, b = 0x9ae16a3b2f90404full;
  for (unsigned char c : text) {
    a = (a ^ c) * 1099511628211ull;
    b = (b ^ (c + 0x9eull)) * 0x100000001b3ull + (b >> 29);
  }
  char hex[33];
  snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
  return hex;
}

// Hashes the literal's bytes, eight at a time: printing millions of folded weights takes seconds.
std::string literal_digest(const xla::Literal& literal) {
  const char* data = static_cast<const char*>(literal.untyped_data());
  const size_t size = literal.size_bytes();
  uint64_t hash = 1469598103934665603ull ^ size;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    memcpy(&word, data + i, std::min<size_t>(8, size - i));
    hash = (hash ^ word) * 0x9ddfea08eb382d69ull;
    hash ^= hash >> 32;
  }
  return std::to_string(hash) + ",";
}

std::string fingerprint(const xla::HloInstruction& kernel, bool with_name) {
  auto print = xla::HloPrintOptions::Canonical().set_include_layout_in_shapes(true).set_print_metadata(false);
  std::string text = kernel.shape().ToString(true);
  for (const auto* operand : kernel.operands()) text += "," + operand->shape().ToString(true);
  if (kernel.opcode() == xla::HloOpcode::kFusion) {
    text += xla::ToString(kernel.fusion_kind()).data();
    const std::string computation = kernel.fused_instructions_computation()->ToString(print);
    text += with_name ? computation : computation.substr(computation.find('{'));
  } else {
    auto clone = kernel.Clone();  // without the names of neighbours
    clone->set_frontend_attributes({});
    text += std::string(xla::HloOpcodeString(kernel.opcode()));
    for (const std::string& extra : clone->ExtraAttributesToString(print)) text += "," + extra;
  }
  auto config = kernel.backend_config<xla::cpu::BackendConfig>();
  if (config.ok()) text += config->SerializeAsString();  // not DebugString: it differs between processes
  return digest(text);
}

}  // namespace

std::string kernel_fingerprint(const xla::HloInstruction& kernel) { return fingerprint(kernel, /*with_name=*/true); }
std::string content_fingerprint(const xla::HloInstruction& kernel) { return fingerprint(kernel, /*with_name=*/false); }

std::string module_fingerprint(const xla::HloModule& module) {
  std::string text = module.ToString(xla::HloPrintOptions::Canonical()
                                         .set_include_layout_in_shapes(true)
                                         .set_print_metadata(false)
                                         .set_print_large_constants(false));
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kConstant && instruction->shape().IsArray())
        text += literal_digest(instruction->literal());
  return digest(text);
}

}  // namespace hone::xla_side
