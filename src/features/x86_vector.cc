#include "features/x86_vector.h"

#include <array>
#include <initializer_list>

namespace hone::features {
namespace {

using K = CodeKind;

bool between(int value, int low, int high) { return low <= value && value <= high; }

using Table = std::array<CodeKind, 256>;

void set(Table& table, CodeKind kind, std::initializer_list<int> opcodes) {
  for (const int opcode : opcodes) table[opcode] = kind;
}

Table table_of_0f() {
  Table table;
  table.fill(K::k_vector_move);
  for (int op = 0x60; op <= 0x6d; ++op) table[op] = K::k_shuffle;
  for (int op = 0xd1; op <= 0xfe; ++op) table[op] = K::k_vector_integer;
  set(table, K::k_vector_integer, {0x64, 0x65, 0x66, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76});
  set(table, K::k_vector_move, {0xd6, 0xd7, 0xe7, 0xf0});
  set(table, K::k_shuffle, {0x14, 0x15, 0x70, 0xc4, 0xc5, 0xc6});
  set(table, K::k_convert, {0x2a, 0x2c, 0x2d, 0x5a, 0x5b, 0xe6, 0x78, 0x79, 0x7a, 0x7b});
  set(table, K::k_square_root, {0x51});
  set(table, K::k_approximate, {0x52, 0x53});
  set(table, K::k_vector_logic, {0x54, 0x55, 0x56, 0x57, 0xdb, 0xdf, 0xeb, 0xef});
  set(table, K::k_float_add, {0x2e, 0x2f, 0x58, 0x5c, 0x5d, 0x5f, 0x7c, 0x7d, 0xc2, 0xd0});
  set(table, K::k_float_multiply, {0x59});
  set(table, K::k_float_divide, {0x5e});
  set(table, K::k_vector_multiply, {0xd5, 0xe4, 0xe5, 0xf4, 0xf5});
  return table;
}

CodeKind kind_in_0f(const VectorOpcode& o) {
  static const Table table = table_of_0f();
  const int op = o.opcode;
  const bool masks = between(op, 0x41, 0x4b) || between(op, 0x90, 0x93) || op == 0x98 || op == 0x99;
  return masks && o.encoding == CodeEncoding::Vex ? K::k_mask : table[op];
}

CodeKind kind_in_0f38(const VectorOpcode& o) {
  const int op = o.opcode;
  const bool legacy = o.encoding == CodeEncoding::Legacy, evex = o.encoding == CodeEncoding::Evex;
  if (between(op, 0x96, 0x9f) || between(op, 0xa6, 0xaf) || between(op, 0xb6, 0xbf)) return K::k_fused_multiply_add;
  if (between(op, 0x90, 0x93)) return K::k_gather;
  if (between(op, 0xa0, 0xa3)) return K::k_scatter;
  if (evex && o.prefix == 2 && (between(op, 0x10, 0x15) || between(op, 0x20, 0x25) || between(op, 0x30, 0x35)))
    return K::k_convert;  // to narrower integers
  if (between(op, 0x20, 0x25) || between(op, 0x30, 0x35) || op == 0x13 || op == 0x72) return K::k_convert;
  if (legacy && (op == 0x10 || op == 0x14 || op == 0x15)) return K::k_blend;
  if (between(op, 0x64, 0x66)) return K::k_blend;
  if (between(op, 0x18, 0x1b) || between(op, 0x58, 0x5b) || between(op, 0x78, 0x7c)) return K::k_broadcast;
  if (between(op, 0x75, 0x77) || between(op, 0x7d, 0x7f) || between(op, 0x88, 0x8b) || op == 0x8d) return K::k_shuffle;
  if (between(op, 0x4c, 0x4f) || between(op, 0xc8, 0xcd)) return K::k_approximate;
  if (between(op, 0xf0, 0xf7)) return K::k_integer;
  switch (op) {
    case 0x00:
    case 0x0c:
    case 0x0d:
    case 0x16:
    case 0x2b:
    case 0x36:
    case 0x62:
    case 0x63:
      return K::k_shuffle;
    case 0x04:
    case 0x0b:
    case 0x28:
    case 0x40:
    case 0x50:
    case 0x51:
    case 0x52:
    case 0x53:
      return K::k_vector_multiply;
    case 0x2c:
    case 0x2d:
      return evex ? K::k_float_multiply : K::k_vector_move;
    case 0x2a:
    case 0x2e:
    case 0x2f:
    case 0x8c:
    case 0x8e:
      return K::k_vector_move;
    case 0x42:
    case 0x43:
      return K::k_round;
  }
  return K::k_vector_integer;
}

CodeKind kind_in_0f3a(const VectorOpcode& o) {
  const int op = o.opcode;
  if (between(op, 0x08, 0x0b) || op == 0x26 || op == 0x27 || op == 0x56 || op == 0x57) return K::k_round;
  if (op == 0x02 || between(op, 0x0c, 0x0e) || between(op, 0x4a, 0x4c)) return K::k_blend;
  if (o.encoding == CodeEncoding::Vex && between(op, 0x30, 0x33)) return K::k_mask;
  if (op == 0x1d) return K::k_convert;
  if (op == 0x25) return K::k_vector_logic;
  if (op == 0x40 || op == 0x41) return K::k_float_multiply;
  if (op == 0xc2 || between(op, 0x50, 0x51)) return K::k_float_add;
  if (op == 0x1e || op == 0x1f || op == 0x3e || op == 0x3f || between(op, 0x70, 0x73)) return K::k_vector_integer;
  if (op == 0xf0) return K::k_integer;
  return K::k_shuffle;
}

}  // namespace

CodeKind vector_kind(const VectorOpcode& o) {
  switch (o.map) {
    case 2:
      return kind_in_0f38(o);
    case 3:
      return kind_in_0f3a(o);
    case 6:
      return kind_in_0f38(o);
    default:
      return kind_in_0f(o);
  }
}

bool works_on_one_element(const VectorOpcode& o, CodeKind kind) {
  if (kind == K::k_fused_multiply_add) return (o.opcode & 1) != 0 && (o.opcode & 0xf) > 8;
  if (o.map == 2 || o.map == 6) return o.opcode == 0x4d || o.opcode == 0x4f || o.opcode == 0x2d || o.opcode == 0x43;
  if (o.map == 3) return o.opcode == 0x0a || o.opcode == 0x0b || between(o.opcode, 0x14, 0x17);
  if (o.opcode == 0x2e || o.opcode == 0x2f || o.opcode == 0x6e || o.opcode == 0x7e || o.opcode == 0xd6) return true;
  const bool float_scalar = o.prefix == 2 || o.prefix == 3;
  if (o.opcode == 0xe6 || o.opcode == 0x5b || o.opcode == 0x6f || o.opcode == 0x7f || o.opcode == 0x70) return false;
  return float_scalar && (between(o.opcode, 0x10, 0x11) || between(o.opcode, 0x2a, 0x2d) ||
                          between(o.opcode, 0x51, 0x5f) || o.opcode == 0xc2 || between(o.opcode, 0x78, 0x7b));
}

bool writes_rm(const VectorOpcode& o) {
  const int op = o.opcode;
  if (o.map == 3) return between(op, 0x14, 0x17) || op == 0x19 || op == 0x1b || op == 0x39 || op == 0x3b || op == 0x1d;
  if (o.map == 2) {
    if (o.encoding == CodeEncoding::Evex && o.prefix == 2)
      return between(op, 0x10, 0x15) || between(op, 0x20, 0x25) || between(op, 0x30, 0x35);
    if (o.encoding == CodeEncoding::Vex && (op == 0x2e || op == 0x2f || op == 0x8e)) return true;
    return op == 0x63 || op == 0x8a || op == 0x8b || between(op, 0xa0, 0xa3);
  }
  if (o.encoding == CodeEncoding::Vex && op == 0x91) return true;
  return op == 0x11 || op == 0x13 || op == 0x17 || op == 0x29 || op == 0x2b || op == 0x7f || op == 0xd6 || op == 0xe7 ||
         (op == 0x7e && o.prefix != 2);
}

bool rm_is_integer(const VectorOpcode& o) {
  if (o.map == 1 || o.map == 5)
    return o.opcode == 0x2a || o.opcode == 0x6e || (o.opcode == 0x7e && o.prefix != 2) || o.opcode == 0xc4 ||
           (o.opcode == 0x92 && o.encoding == CodeEncoding::Vex) || (o.opcode == 0x7b && o.prefix >= 2);
  if (o.map == 3) return between(o.opcode, 0x14, 0x17) || o.opcode == 0x20 || o.opcode == 0x22 || o.opcode == 0xf0;
  return o.map == 2 && (between(o.opcode, 0xf0, 0xf7) || between(o.opcode, 0x7a, 0x7c));
}

bool target_is_integer(const VectorOpcode& o) {
  if (o.map == 1 || o.map == 5)
    return o.opcode == 0x2c || o.opcode == 0x2d || o.opcode == 0x50 || o.opcode == 0xc5 || o.opcode == 0xd7 ||
           (o.opcode == 0x93 && o.encoding == CodeEncoding::Vex) ||
           (o.encoding == CodeEncoding::Evex && o.prefix >= 2 && between(o.opcode, 0x78, 0x79));
  return (o.map == 2 && between(o.opcode, 0xf0, 0xf7)) || (o.map == 3 && o.opcode == 0xf0);
}

bool target_is_mask(const VectorOpcode& o) {
  if (o.encoding == CodeEncoding::Vex) {
    if (o.map == 1) return between(o.opcode, 0x41, 0x4b) || o.opcode == 0x90 || o.opcode == 0x92;
    return o.map == 3 && between(o.opcode, 0x30, 0x33);
  }
  if (o.encoding != CodeEncoding::Evex) return false;
  if (o.map == 1) return o.opcode == 0xc2 || between(o.opcode, 0x64, 0x66) || between(o.opcode, 0x74, 0x76);
  if (o.map == 2)
    return o.opcode == 0x26 || o.opcode == 0x27 || o.opcode == 0x29 || o.opcode == 0x37 ||
           (o.opcode == 0x39 && o.prefix == 2);
  return o.map == 3 && (o.opcode == 0xc2 || o.opcode == 0x1e || o.opcode == 0x1f || o.opcode == 0x3e ||
                        o.opcode == 0x3f || o.opcode == 0x66 || o.opcode == 0x67);
}

bool reads_target(const VectorOpcode& o, CodeKind kind) {
  if (kind == K::k_fused_multiply_add) return true;
  if (o.map == 3 && o.opcode == 0x25) return true;
  if (o.map == 2 && (between(o.opcode, 0x75, 0x77) || between(o.opcode, 0x7d, 0x7f) || between(o.opcode, 0x50, 0x53)))
    return true;
  if (o.encoding != CodeEncoding::Legacy) return false;
  return kind != K::k_vector_move && kind != K::k_convert && kind != K::k_square_root && kind != K::k_approximate &&
         !(o.map == 1 && o.opcode == 0x70);
}

bool has_immediate(const VectorOpcode& o) {
  if (o.map == 3) return true;
  return o.map == 1 && (between(o.opcode, 0x70, 0x73) || o.opcode == 0xc2 || between(o.opcode, 0xc4, 0xc6));
}

}  // namespace hone::features
