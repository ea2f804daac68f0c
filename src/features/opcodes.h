// TpuGraphs' numbers of HLO opcodes: stable, independent of XLA's own order.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::features {

inline constexpr int kOpcodeCount = 135;  // numbers are below this: rows of an opcode embedding

// By XLA's text ("dynamic-slice"); 0 for one that is not in opcodes.def.
uint8_t opcode_number(std::string_view opcode);
// The inverse; "unknown" for 0 and for numbers without an opcode.
std::string_view opcode_name(int number);

}  // namespace hone::features
