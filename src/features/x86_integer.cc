// Instructions of integers, and jumps.
#include "features/x86_decoder.h"

namespace hone::features {
void Decoder::set(K kind, E effect, int target, int source) {
  out_.kind = kind;
  out_.effect = effect;
  out_.target = static_cast<int8_t>(target);
  out_.sources[0] = static_cast<int8_t>(source);
}

void Decoder::arithmetic(int operation, bool to_rm, bool has_constant, bool byte_sized) {
  const int target = to_rm ? rm_ : reg_, source = to_rm ? reg_ : rm_;
  out_.kind = K::k_integer;
  const bool compares = operation == 7;
  if (in_memory()) {
    out_.loads = true;
    if (to_rm && !compares) out_.stores = true;
  }
  out_.sources = {static_cast<int8_t>(to_rm && in_memory() ? -1 : target),
                  static_cast<int8_t>(has_constant || (!to_rm && in_memory()) ? -1 : source), -1};
  if (to_rm && in_memory()) {
    if (!has_constant) out_.sources[0] = static_cast<int8_t>(reg_), out_.sources[1] = -1;
    if (byte_sized) return;
    if (compares) out_.effect = E::CompareMemory;
    if (has_constant && (operation == 0 || operation == 5)) out_.effect = E::AddToMemory;
    if (operation == 5) out_.immediate = -out_.immediate;
    return;
  }
  if (compares) {
    if (!byte_sized && !in_memory()) out_.effect = E::Compare;
    return;
  }
  out_.target = static_cast<int8_t>(target);
  if (byte_sized) return;
  if (operation == 6 && !has_constant && !in_memory() && target == source) {
    set(K::k_move, E::SetConstant, target);
    out_.immediate = 0;
    out_.zeroes = true;
  } else if (has_constant && (operation == 0 || operation == 5)) {
    out_.effect = E::AddConstant;
    if (operation == 5) out_.immediate = -out_.immediate;
  } else if (operation == 0 && !in_memory()) {
    out_.effect = E::Add;
  }
}

void Decoder::move_rm(bool to_rm, bool byte_sized) {
  out_.kind = K::k_move;
  if (in_memory()) {
    (to_rm ? out_.stores : out_.loads) = true;
    const bool word = !byte_sized && operand_bytes() >= 4;
    if (to_rm)
      set(K::k_move, word ? E::Store : E::Other, -1, reg_);
    else
      set(K::k_move, word ? E::Load : E::Other, reg_);
    return;
  }
  set(K::k_move, byte_sized || operand_bytes() < 4 ? E::Other : E::Copy, to_rm ? rm_ : reg_, to_rm ? reg_ : rm_);
}

void Decoder::rm_alone(K kind, bool writes) {
  out_.kind = kind;
  if (in_memory()) {
    out_.loads = true;
    out_.stores = writes;
  } else {
    out_.sources[0] = static_cast<int8_t>(rm_);
    if (writes) out_.target = static_cast<int8_t>(rm_);
  }
}

void Decoder::jump(K kind, int bytes) {
  out_.kind = kind;
  out_.branch_to = number(bytes);
  jumps_ = true;
  if (kind == K::k_branch) out_.condition = opcode_ & 0xf;
}

void Decoder::group_f7() {
  const bool byte_sized = opcode_ == 0xf6;
  read_modrm();
  const int operation = reg_ & 7;
  if (operation < 2) {
    out_.immediate = number(byte_sized ? 1 : immediate_bytes());
    out_.effect = in_memory() ? E::TestMemory : E::Test;
    return rm_alone(K::k_integer, false);
  }
  if (operation < 4) return rm_alone(K::k_integer, true);
  rm_alone(operation < 6 ? K::k_integer_multiply : K::k_integer_divide, false);
  out_.target = 0;
}

void Decoder::group_ff() {
  read_modrm();
  const int operation = reg_ & 7;
  if (operation < 2) {
    rm_alone(K::k_integer, true);
    out_.immediate = operation == 0 ? 1 : -1;
    if (opcode_ == 0xff) out_.effect = in_memory() ? E::AddToMemory : E::AddConstant;
  } else if (operation == 2 || operation == 4) {
    rm_alone(operation == 2 ? K::k_call : K::k_jump, false);
    out_.indirect = true;
  } else {
    rm_alone(K::k_move, false);
    out_.stores = true;
  }
}

void Decoder::move_constant() {
  read_modrm();
  out_.immediate = number(opcode_ == 0xc6 ? 1 : immediate_bytes());
  if (!in_memory()) return set(K::k_move, E::SetConstant, rm_);
  out_.kind = K::k_move;
  out_.stores = true;
  out_.effect = E::StoreConstant;
}

void Decoder::read_one_byte() {
  const uint8_t op = opcode_;
  if (op < 0x40) {
    const int form = op & 7, operation = op >> 3;
    if (form > 5) return fail();
    if (form > 3) {
      out_.immediate = number(form == 4 ? 1 : immediate_bytes());
      mod_ = 3, rm_ = 0;
      return arithmetic(operation, true, true, form == 4);
    }
    read_modrm();
    return arithmetic(operation, form < 2, false, (form & 1) == 0);
  }
  switch (op) {
    case 0x63:
      read_modrm();
      return move_extended(4);
    case 0x69:
    case 0x6b:
      read_modrm();
      out_.immediate = number(op == 0x6b ? 1 : immediate_bytes());
      rm_alone(K::k_integer_multiply, false);
      out_.target = static_cast<int8_t>(reg_);
      return;
    case 0x80:
    case 0x81:
    case 0x83:
      read_modrm();
      out_.immediate = number(op == 0x81 ? immediate_bytes() : 1);
      return arithmetic(reg_ & 7, true, true, op == 0x80);
    case 0x84:
    case 0x85:
      read_modrm();
      rm_alone(K::k_integer, false);
      out_.sources[1] = static_cast<int8_t>(reg_);
      if (!in_memory() && reg_ == rm_) out_.effect = E::Test, out_.immediate = -1;
      return;
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
      read_modrm();
      return move_rm(op < 0x8a, (op & 1) == 0);
    case 0x8d:
      read_modrm();
      set(K::k_address, E::Address, reg_);
      return;
    case 0xc6:
    case 0xc7:
      return move_constant();
    case 0xf6:
    case 0xf7:
      return group_f7();
    case 0xfe:
    case 0xff:
      return group_ff();
  }
  read_rest_of_one_byte();
}

void Decoder::read_rest_of_one_byte() {
  const uint8_t op = opcode_;
  const int extended = (op & 7) | ((rex_ & 1) != 0 ? 8 : 0);
  if (op >= 0x50 && op <= 0x5f) {
    op < 0x58 ? set(K::k_move, E::Other, -1, extended) : set(K::k_move, E::Other, extended);
    (op < 0x58 ? out_.stores : out_.loads) = true;
    out_.memory.base = kStackRegister;
  } else if (op >= 0x70 && op <= 0x7f) {
    jump(K::k_branch, 1);
  } else if (op >= 0xb0 && op <= 0xb7) {
    out_.immediate = number(1);
    set(K::k_move, E::SetConstant, extended);  // of the lowest byte, which is all that is read then
  } else if (op >= 0xb8 && op <= 0xbf) {
    out_.immediate = wide() ? number(8) : number(immediate_bytes()) & 0xffffffff;
    set(K::k_move, operand16_ ? E::Other : E::SetConstant, extended);
  } else if (op == 0xc0 || op == 0xc1 || (op >= 0xd0 && op <= 0xd3)) {
    read_modrm();
    out_.immediate = op <= 0xc1 ? number(1) : 1;
    rm_alone(K::k_integer, true);
  } else if (op == 0x68 || op == 0x6a || op == 0xa8 || op == 0xa9) {
    out_.immediate = number(op == 0x68 || op == 0xa9 ? immediate_bytes() : 1);
    out_.kind = op < 0x70 ? K::k_move : K::k_integer;
    out_.stores = op < 0x70;
  } else if (op == 0xe8 || op == 0xe9 || op == 0xeb) {
    jump(op == 0xe8 ? K::k_call : K::k_jump, op == 0xeb ? 1 : 4);
  } else if (op == 0xc3 || op == 0xc2) {
    if (op == 0xc2) number(2);
    out_.kind = K::k_jump;
    out_.returns = true;
  } else if (op == 0x86 || op == 0x87 || op == 0x8f || (op >= 0xd8 && op <= 0xdf)) {
    read_modrm();
    rm_alone(K::k_other, op < 0x90);
  } else if (op == 0x90 || op == 0xc9 || op == 0xcc) {
    out_.kind = op == 0x90 ? K::k_move : K::k_other;
  } else if (op == 0x98 || op == 0x99) {
    set(K::k_integer, E::Other, op == 0x98 ? 0 : 2, 0);
  } else if (op > 0x90 && op < 0x98) {
    set(K::k_integer, E::Other, extended, 0);
  } else if (op >= 0xa4 && op <= 0xab) {
    out_.kind = K::k_other;  // of strings
    out_.loads = out_.stores = true;
  } else {
    fail();
  }
}

void Decoder::move_extended(int bytes) {
  set(K::k_move, E::Other, reg_, in_memory() ? -1 : rm_);
  out_.loads = in_memory();
  if (bytes == 4) out_.effect = in_memory() ? E::Load : E::Copy;
}

void Decoder::read_0f() {
  opcode_ = byte();
  if (opcode_ == 0x38 || opcode_ == 0x3a) {
    const uint8_t map = opcode_ == 0x38 ? 2 : 3;
    opcode_ = byte();
    return read_vector(CodeEncoding::Legacy, map);
  }
  const uint8_t op = opcode_;
  const int extended = (op & 7) | ((rex_ & 1) != 0 ? 8 : 0);
  if (op >= 0x80 && op <= 0x8f) return jump(K::k_branch, 4);
  if (op == 0x0b || op == 0x05 || op == 0x31 || op == 0xa2 || op == 0x77) return;
  if (op >= 0xc8 && op <= 0xcf) return set(K::k_integer, E::Other, extended, extended);
  const bool vector = (op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f) || (op >= 0x50 && op <= 0x7f) ||
                      op == 0xc2 || (op >= 0xc4 && op <= 0xc6) || op >= 0xd0;
  if (vector) return read_vector(CodeEncoding::Legacy, 1);
  read_modrm();
  if (op == 0x0d || (op >= 0x18 && op <= 0x1f) || op == 0xae) {  // prefetches, wide nops, fences
    out_.kind = op == 0xae ? K::k_other : K::k_move;
    return;
  }
  const bool bits = op == 0xa4 || op == 0xac || op == 0xba;
  if (bits) out_.immediate = number(1);
  const bool compares = op == 0xa3 || (op == 0xba && (reg_ & 7) == 4);
  const bool sets_rm = (op >= 0x90 && op <= 0x9f) || bits || op == 0xa5 || op == 0xab || op == 0xad || op == 0xb3 ||
                       op == 0xbb || op == 0xb0 || op == 0xb1 || op == 0xc0 || op == 0xc1 || op == 0xc3;
  if (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf) return move_extended(1);
  rm_alone(op == 0xaf ? K::k_integer_multiply : K::k_integer, sets_rm && !compares);
  if ((op >= 0x90 && op <= 0x9f) || op == 0xc3) out_.loads = false;
  if (!sets_rm && !compares) {
    out_.target = static_cast<int8_t>(reg_);
    out_.sources[1] = static_cast<int8_t>(reg_);
  }
}

}  // namespace hone::features
