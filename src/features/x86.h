// Reads x86-64 machine code: how long an instruction is, what kind of work it does, and as much of its operands as loops and
// dependences need. Covers what LLVM generates for SSE to AVX-512; what it cannot read has length 0.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace hone::features {

enum class CodeKind : uint8_t {
#define KIND(name, arithmetic, latency, per_cycle) k_##name,
#include "features/x86_kinds.def"
#undef KIND
};
inline constexpr int kCodeKinds = 0
#define KIND(name, arithmetic, latency, per_cycle) +1
#include "features/x86_kinds.def"
#undef KIND
    ;
struct CodeKindInfo {
  const char* name;
  bool arithmetic;
  double latency, per_cycle;
};
const CodeKindInfo& info_of(CodeKind kind);

// Registers: 0-15 of integers (4 = the stack pointer), 16-47 vectors, 48-55 masks; -1 = none.
inline constexpr int kVectorRegister = 16, kMaskRegister = 48, kRegisters = 56;
inline constexpr int kStackRegister = 4, kFrameRegister = 5;

struct MemoryOperand {
  int8_t base = -1, index = -1;
  uint8_t scale = 1;
  bool of_code = false;  // relative to the instruction: a constant
  int64_t displacement = 0;
};

// What an instruction does to an integer register or a word of memory, as far as the number of a loop's runs depends on it.
enum class CodeEffect : uint8_t {
  Other,          // target, if any, becomes unknown
  SetConstant,    // target = immediate
  Copy,           // target = source 0
  Load,           // target = memory
  Store,          // memory = source 0
  StoreConstant,  // memory = immediate
  AddConstant,    // target += immediate
  AddToMemory,    // memory += immediate
  Add,            // target += source 1
  Address,        // target = address of memory
  Compare,        // flags of source 0 - source 1, or - immediate where there is none
  CompareMemory,  // flags of memory - immediate, or - source 0
  Test,           // flags of source 0 & immediate
  TestMemory,     // flags of memory & immediate
};

struct Instruction {
  uint8_t length = 0;
  CodeKind kind = CodeKind::k_other;
  CodeEffect effect = CodeEffect::Other;
  uint16_t vector_bits = 0;  // 128, 256, 512; 0 = of integer registers, or of one element
  bool loads = false, stores = false;
  bool returns = false, indirect = false;  // indirect: a jump or call whose target is not in the code
  bool zeroes = false;                     // its result does not depend on its sources
  uint8_t condition = 0;                   // of a branch: low four bits of its opcode
  int8_t target = -1;
  std::array<int8_t, 3> sources = {-1, -1, -1};
  MemoryOperand memory;
  int64_t immediate = 0;
  int64_t branch_to = 0;  // bytes from the instruction's start
};

// The instruction at the beginning of `code`.
Instruction decode_x86(std::span<const uint8_t> code);

}  // namespace hone::features
