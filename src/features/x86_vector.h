// The vector instructions of x86-64 by their place in the opcode maps.
#pragma once

#include <cstdint>

#include "features/x86.h"

namespace hone::features {

enum class CodeEncoding : uint8_t { Legacy, Vex, Evex };

// Where an opcode stands: map 1 (0F), 2 (0F38), 3 (0F3A), 5 and 6 (16-bit floating point); prefix 0 none, 1 66, 2 F3, 3 F2.
struct VectorOpcode {
  CodeEncoding encoding = CodeEncoding::Legacy;
  uint8_t map = 1, prefix = 0, opcode = 0;
};

CodeKind vector_kind(const VectorOpcode& o);
bool works_on_one_element(const VectorOpcode& o, CodeKind kind);
// The operand that may be in memory is the one written.
bool writes_rm(const VectorOpcode& o);
bool rm_is_integer(const VectorOpcode& o);      // the operand that may be in memory is an integer register
bool target_is_integer(const VectorOpcode& o);  // the register operand is, and is written
bool target_is_mask(const VectorOpcode& o);
bool reads_target(const VectorOpcode& o, CodeKind kind);
bool has_immediate(const VectorOpcode& o);

}  // namespace hone::features
