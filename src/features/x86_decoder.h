// The state of reading one instruction, for x86.cc and x86_integer.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "features/x86.h"
#include "features/x86_vector.h"

namespace hone::features {

class Decoder {
 public:
  explicit Decoder(std::span<const uint8_t> code) : code_(code) {}
  Instruction decode();

 private:
  using K = CodeKind;
  using E = CodeEffect;

  uint8_t byte();
  int64_t number(int bytes);
  void read_prefixes();
  bool wide() const { return (rex_ & 8) != 0; }
  int operand_bytes() const { return wide() ? 8 : operand16_ ? 2 : 4; }
  int immediate_bytes() const { return operand16_ && !wide() ? 2 : 4; }
  // The byte of operands and what follows it. Of memory, displacements of one byte are in units of `unit`.
  void read_modrm(int unit = 1);
  bool in_memory() const { return mod_ != 3; }
  void read_opcode();
  void set(K kind, E effect, int target, int source = -1);
  // add, or, adc, sbb, and, sub, xor, cmp of rm and a register or constant.
  void arithmetic(int operation, bool to_rm, bool has_constant, bool byte_sized);
  void move_rm(bool to_rm, bool byte_sized);
  void rm_alone(K kind, bool writes);
  void jump(K kind, int bytes);
  void move_constant();
  void group_f7();
  void group_ff();
  void read_one_byte();
  void read_rest_of_one_byte();
  void move_extended(int bytes);
  void read_0f();
  void read_vex();
  void set_vex(uint8_t b);
  void read_evex();
  void read_vector(CodeEncoding encoding, uint8_t map);
  void set_operands(const VectorOpcode& o, CodeKind kind);
  void fail() { ok_ = false; }

  std::span<const uint8_t> code_;
  size_t at_ = 0;
  bool ok_ = true, operand16_ = false, jumps_ = false, high_reg_ = false, high_rm_ = false, merges_ = false,
       repeated_ = false;
  uint8_t rex_ = 0, repeat_ = 0, opcode_ = 0, prefix_ = 0, masked_ = 0;
  int mod_ = 3, reg_ = 0, rm_ = 0, vvvv_ = 0, bits_ = 128;
  Instruction out_;
};

}  // namespace hone::features
