#include "features/x86_decoder.h"

#include <cstring>

namespace hone::features {
namespace {

constexpr CodeKindInfo kInfo[] = {
#define KIND(name, arithmetic, latency, per_cycle) {#name, arithmetic, latency, per_cycle},
#include "features/x86_kinds.def"
#undef KIND
};

}  // namespace

Instruction Decoder::decode() {
  read_prefixes();
  if (ok_) read_opcode();
  if (!ok_ || at_ > 15) return {};
  out_.length = static_cast<uint8_t>(at_);
  if (out_.branch_to != 0 || jumps_) out_.branch_to += static_cast<int64_t>(at_);
  return out_;
}

uint8_t Decoder::byte() {
  if (at_ >= code_.size()) {
    ok_ = false;
    return 0;
  }
  return code_[at_++];
}

int64_t Decoder::number(int bytes) {  // signed
  if (at_ + bytes > code_.size()) {
    ok_ = false;
    return 0;
  }
  uint64_t value = 0;
  std::memcpy(&value, code_.data() + at_, bytes);
  at_ += bytes;
  const int shift = 64 - 8 * bytes;
  return static_cast<int64_t>(value << shift) >> shift;
}

void Decoder::read_prefixes() {
  while (ok_) {
    const uint8_t b = byte();
    if (b == 0x66) {
      operand16_ = true;
    } else if (b == 0xf2 || b == 0xf3) {
      repeat_ = b;
    } else if (b == 0x2e || b == 0x36 || b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65 || b == 0xf0 || b == 0x67) {
    } else if ((b & 0xf0) == 0x40) {
      rex_ = b;
      opcode_ = byte();
      return;
    } else {
      opcode_ = b;
      return;
    }
  }
}

void Decoder::read_modrm(int unit) {
  const uint8_t b = byte();
  mod_ = b >> 6;
  reg_ = ((b >> 3) & 7) | ((rex_ & 4) != 0 ? 8 : 0);
  rm_ = b & 7;
  if (mod_ == 3) {
    rm_ |= (rex_ & 1) != 0 ? 8 : 0;
    return;
  }
  MemoryOperand& m = out_.memory;
  if (rm_ == 4) {
    const uint8_t sib = byte();
    const int index = ((sib >> 3) & 7) | ((rex_ & 2) != 0 ? 8 : 0), base = sib & 7;
    m.scale = static_cast<uint8_t>(1 << (sib >> 6));
    if (index != 4) m.index = static_cast<int8_t>(index);
    if (base == 5 && mod_ == 0)
      m.displacement = number(4);
    else
      m.base = static_cast<int8_t>(base | ((rex_ & 1) != 0 ? 8 : 0));
  } else if (rm_ == 5 && mod_ == 0) {
    m.of_code = true;
    m.displacement = number(4);
  } else {
    m.base = static_cast<int8_t>(rm_ | ((rex_ & 1) != 0 ? 8 : 0));
  }
  if (mod_ == 1) m.displacement = number(1) * unit;
  if (mod_ == 2) m.displacement = number(4);
}

void Decoder::read_opcode() {
  if (opcode_ == 0x0f) return read_0f();
  if (opcode_ == 0xc5 || opcode_ == 0xc4) return read_vex();
  if (opcode_ == 0x62) return read_evex();
  read_one_byte();
}

void Decoder::read_vex() {
  vvvv_ = -1;
  int map = 1;
  if (opcode_ == 0xc5) {
    const uint8_t b = byte();
    rex_ = (b & 0x80) != 0 ? 0 : 4;
    set_vex(b);
  } else {
    const uint8_t a = byte(), b = byte();
    rex_ = static_cast<uint8_t>(((~a >> 5) & 7) | ((b & 0x80) != 0 ? 8 : 0));
    map = a & 0x1f;
    set_vex(b);
  }
  opcode_ = byte();
  read_vector(CodeEncoding::Vex, static_cast<uint8_t>(map));
}

void Decoder::set_vex(uint8_t b) {
  vvvv_ = (~b >> 3) & 0xf;
  bits_ = (b & 4) != 0 ? 256 : 128;
  prefix_ = b & 3;
}

void Decoder::read_evex() {
  const uint8_t a = byte(), b = byte(), c = byte();
  rex_ = static_cast<uint8_t>(((~a >> 5) & 7) | ((b & 0x80) != 0 ? 8 : 0));
  high_reg_ = (a & 0x10) == 0, high_rm_ = (a & 0x40) == 0;
  vvvv_ = ((~b >> 3) & 0xf) | ((c & 8) == 0 ? 16 : 0);
  bits_ = (c & 0x60) == 0x40 ? 512 : (c & 0x60) == 0x20 ? 256 : 128;
  prefix_ = b & 3;
  masked_ = (c & 7) != 0 ? c & 7 : 0;
  merges_ = masked_ != 0 && (c & 0x80) == 0;
  repeated_ = (c & 0x10) != 0;
  opcode_ = byte();
  read_vector(CodeEncoding::Evex, a & 7);
}

void Decoder::read_vector(CodeEncoding encoding, uint8_t map) {
  if (encoding == CodeEncoding::Legacy) {
    prefix_ = repeat_ == 0xf3 ? 2 : repeat_ == 0xf2 ? 3 : operand16_ ? 1 : 0;
    bits_ = 128;
  }
  const VectorOpcode o{encoding, map, prefix_, opcode_};
  if (map == 1 && opcode_ == 0x77) return;
  const CodeKind kind = vector_kind(o);
  const bool one = works_on_one_element(o, kind);
  int unit = 1;
  if (encoding == CodeEncoding::Evex) unit = one || repeated_ ? (wide() ? 8 : 4) : bits_ / 8;
  read_modrm(unit);
  if (has_immediate(o)) out_.immediate = number(1);
  out_.kind = kind;
  out_.vector_bits = one || kind == K::k_integer || kind == K::k_mask ? 0 : static_cast<uint16_t>(bits_);
  set_operands(o, kind);
}

void Decoder::set_operands(const VectorOpcode& o, CodeKind kind) {
  const bool writes = writes_rm(o), masks = kind == K::k_mask;
  const int rm_file = rm_is_integer(o) ? 0 : masks ? kMaskRegister : kVectorRegister;
  const int reg_file = target_is_integer(o) ? 0 : target_is_mask(o) || masks ? kMaskRegister : kVectorRegister;
  const int reg = reg_file + ((reg_ + (high_reg_ ? 16 : 0)) & (reg_file == kMaskRegister ? 7 : 31));
  const int rm = rm_file + (rm_file == kVectorRegister && high_rm_ ? rm_ + 16
                            : rm_file == kMaskRegister             ? rm_ & 7
                                                                   : rm_);
  const bool third = o.encoding != CodeEncoding::Legacy && (vvvv_ & 15) != 0;  // a field of zeros: register 0, or none
  const bool unused = !third && (kind == K::k_vector_move || kind == K::k_convert || kind == K::k_broadcast);
  size_t next = 0;
  const auto reads = [&](int r) {
    if (next < out_.sources.size()) out_.sources[next++] = static_cast<int8_t>(r);
  };
  if (o.map == 1 && o.opcode >= 0x71 &&
      o.opcode <= 0x73) {  // shifts by a constant: the register operand is part of the opcode
    reads(rm);
    out_.target = static_cast<int8_t>(o.encoding == CodeEncoding::Legacy ? rm : kVectorRegister + (vvvv_ & 31));
    return;
  }
  if (in_memory())
    (writes ? out_.stores : out_.loads) = true;
  else
    writes ? void(out_.target = static_cast<int8_t>(rm)) : reads(rm);
  if (writes)
    reads(reg);
  else
    out_.target = static_cast<int8_t>(reg);
  if (kind == K::k_gather) out_.memory.index = -1;  // a vector
  if (kind == K::k_scatter) out_.memory.index = -1, out_.stores = true, out_.loads = false;
  const bool has_third = o.encoding != CodeEncoding::Legacy && !unused && kind != K::k_square_root && !writes;
  if (has_third)
    reads((kind == K::k_integer ? 0 : masks ? kMaskRegister : kVectorRegister) + (vvvv_ & (masks ? 7 : 31)));
  if ((reads_target(o, kind) || merges_) && out_.target >= 0) reads(out_.target);
  out_.zeroes = kind == K::k_vector_logic && !in_memory() && (o.opcode == 0x57 || o.opcode == 0xef) &&
                (o.encoding == CodeEncoding::Legacy ? rm == reg : (vvvv_ & 31) == rm - rm_file);
}

const CodeKindInfo& info_of(CodeKind kind) { return kInfo[static_cast<int>(kind)]; }

Instruction decode_x86(std::span<const uint8_t> code) { return Decoder(code).decode(); }

}  // namespace hone::features
