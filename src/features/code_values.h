// What is known of integer registers, words of the stack and flags at one place in machine code.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "features/x86.h"

namespace hone::features {

// A constant; or what a place held when a run of a loop began (-1: when the function began), plus a constant. What an instruction
// computes that is neither is a place of its own.
struct CodeValue {
  enum Kind : uint8_t { Unknown, Constant, Symbol };
  Kind kind = Unknown;
  int loop = -1;
  int64_t place =
      0;  // a register, kStackPlaces + the displacement of a word of the stack, or kResultPlaces + an instruction
  int64_t number = 0;

  bool operator==(const CodeValue&) const = default;
  CodeValue operator+(int64_t more) const;
};
inline constexpr int64_t kStackPlaces = int64_t{1} << 40, kResultPlaces = int64_t{1} << 50;

// As machines compute: what does not fit wraps around.
inline int64_t wrapped_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapped_difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapped_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

bool same_but_constant(const CodeValue& a, const CodeValue& b);
std::optional<int64_t> difference(const CodeValue& a, const CodeValue& b);

// After how many runs a condition on `first` + n * step fails first, n = 0, 1, ...; nullopt if that is not known to happen.
// Conditions are the low four bits of a conditional jump's opcode, on the flags of a comparison with 0.
std::optional<double> passes(int64_t first, int64_t step, uint8_t condition);

class CodeValues {
 public:
  CodeValues();  // at the beginning of a function
  static CodeValues unknown();
  // `result`: what the instruction computes if that cannot be said otherwise.
  void apply(const Instruction& i, const CodeValue& result);
  // What the instruction of this loop writes is from now on what it is when a run of the loop begins.
  void begin_loop(int loop, const Instruction& i);
  CodeValue of_register(int8_t name) const { return name >= 0 && name < 16 ? registers_[name] : CodeValue(); }
  CodeValue of_place(int64_t place) const;
  const CodeValue& flags(int side) const { return flags_[side]; }
  int64_t flag_bits() const { return flag_bits_; }  // of the left side that count
  bool of_stack(const MemoryOperand& m) const;

  friend CodeValues meet(const CodeValues& a, const CodeValues& b);

 private:
  CodeValue address(const MemoryOperand& m) const;
  void set_register(int8_t name, const CodeValue& value);
  void set_flags(const CodeValue& left, const CodeValue& right, int64_t bits = -1) {
    flags_ = {left, right};
    flag_bits_ = bits;
  }
  void apply_to_memory(const Instruction& i);

  std::array<CodeValue, 16> registers_;
  std::map<int64_t, CodeValue> stack_;  // by stack_word()
  std::array<CodeValue, 2> flags_;
  int64_t flag_bits_ = -1;
};
CodeValues meet(const CodeValues& a, const CodeValues& b);

}  // namespace hone::features
