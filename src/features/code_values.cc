#include "features/code_values.h"

#include <cmath>

namespace hone::features {
namespace {

using E = CodeEffect;
constexpr CodeValue kNothing = {};
constexpr int8_t kLostByCalls[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};
constexpr double kMostRuns = 1e12;

CodeValue constant(int64_t number) { return {CodeValue::Constant, -1, 0, number}; }
// A word of the stack, by the stack pointer or the frame's.
int64_t stack_word(const MemoryOperand& m) {
  return m.displacement + (m.base == kFrameRegister ? int64_t{1} << 36 : 0);
}

}  // namespace

CodeValue CodeValue::operator+(int64_t more) const {
  CodeValue sum = *this;
  sum.number = wrapped_sum(sum.number, kind == Unknown ? 0 : more);
  return sum;
}

bool same_but_constant(const CodeValue& a, const CodeValue& b) {
  return a.kind == b.kind && a.loop == b.loop && a.place == b.place;
}

std::optional<int64_t> difference(const CodeValue& a, const CodeValue& b) {
  if (a.kind == CodeValue::Unknown || !same_but_constant(a, b)) return std::nullopt;
  return wrapped_difference(a.number, b.number);
}

std::optional<double> passes(int64_t first, int64_t step, uint8_t condition) {
  const double d = static_cast<double>(first), s = static_cast<double>(step);
  const auto least_above = [](double value) { return std::max(0.0, std::ceil(value)); };
  double runs = -1;
  switch (condition) {
    case 0x5:  // differs from 0
      if (first == 0) return 0.0;
      if (step == -1 || (step != 0 && first % step == 0)) runs = -d / s;
      break;
    case 0x2:
    case 0x8:
    case 0xc:  // below 0
      if (d >= 0) return 0.0;
      if (step > 0) runs = least_above(-d / s);
      break;
    case 0x6:
    case 0xe:  // at most 0
      if (d > 0) return 0.0;
      if (step > 0) runs = std::floor(-d / s) + 1;
      break;
    case 0x3:
    case 0x9:
    case 0xd:  // at least 0
      if (d < 0) return 0.0;
      if (step < 0) runs = std::floor(d / -s) + 1;
      break;
    case 0x7:
    case 0xf:  // above 0
      if (d <= 0) return 0.0;
      if (step < 0) runs = least_above(d / -s);
      break;
    case 0x4:
      if (first != 0) return 0.0;
      break;
  }
  if (runs < 0 || runs > kMostRuns) return std::nullopt;
  return runs;
}

CodeValues::CodeValues() {
  for (size_t r = 0; r < registers_.size(); ++r) registers_[r] = {CodeValue::Symbol, -1, static_cast<int64_t>(r), 0};
}

CodeValues CodeValues::unknown() {
  CodeValues values;
  values.registers_.fill(kNothing);
  return values;
}

CodeValue CodeValues::of_place(int64_t place) const {
  if (place < kStackPlaces / 2) return registers_[place];
  if (place >= kResultPlaces) return kNothing;
  const auto found = stack_.find(place - kStackPlaces);
  return found == stack_.end() ? kNothing : found->second;
}

bool CodeValues::of_stack(const MemoryOperand& m) const {
  if (m.index >= 0) return false;
  const CodeValue& frame = registers_[kFrameRegister];
  return m.base == kStackRegister || (m.base == kFrameRegister && frame.kind == CodeValue::Symbol && frame.loop < 0 &&
                                      frame.place == kStackRegister);
}

CodeValue CodeValues::address(const MemoryOperand& m) const {
  if (m.of_code) return kNothing;
  const CodeValue base = m.base < 0 ? constant(0) : registers_[m.base];
  CodeValue index = m.index < 0 ? constant(0) : registers_[m.index];
  if (index.kind == CodeValue::Constant) return base + wrapped_product(index.number, m.scale) + m.displacement;
  if (base.kind == CodeValue::Constant && m.scale == 1) return index + base.number + m.displacement;
  return kNothing;
}

void CodeValues::set_register(int8_t name, const CodeValue& value) {
  if (name < 0 || name >= 16) return;
  if (name == kStackRegister) return;  // constant after the prologue
  registers_[name] = value;
}

void CodeValues::apply_to_memory(const Instruction& i) {
  if (!of_stack(i.memory)) {
    if (i.effect == E::AddToMemory) set_flags(kNothing, kNothing);
    return;
  }
  CodeValue& word = stack_[stack_word(i.memory)];
  if (i.effect == E::Store)
    word = of_register(i.sources[0]);
  else if (i.effect == E::StoreConstant)
    word = constant(i.immediate);
  else if (i.effect == E::AddToMemory)
    set_flags(word = word + i.immediate, constant(0));
  else
    word = kNothing;
}

void CodeValues::apply(const Instruction& i, const CodeValue& result) {
  const auto known_or = [&](const CodeValue& value) { return value.kind == CodeValue::Unknown ? result : value; };
  const CodeValue source = of_register(i.sources[0]),
                  memory = of_stack(i.memory) ? of_place(kStackPlaces + stack_word(i.memory)) : kNothing;
  switch (i.effect) {
    case E::SetConstant:
      return set_register(i.target, constant(i.immediate));
    case E::Copy:
      return set_register(i.target, source);
    case E::Load:
      return set_register(i.target, known_or(memory));
    case E::Address:
      return set_register(i.target, known_or(address(i.memory)));
    case E::Store:
    case E::StoreConstant:
    case E::AddToMemory:
      return apply_to_memory(i);
    case E::AddConstant:
      set_register(i.target, of_register(i.target) + i.immediate);
      return set_flags(of_register(i.target), constant(0));
    case E::Add: {
      const CodeValue other = of_register(i.sources[1]), own = of_register(i.target);
      CodeValue sum = kNothing;
      if (other.kind == CodeValue::Constant)
        sum = own + other.number;
      else if (own.kind == CodeValue::Constant)
        sum = other + own.number;
      set_register(i.target, known_or(sum));
      return set_flags(known_or(sum), constant(0));
    }
    case E::Compare:
      return set_flags(source, i.sources[1] >= 0 ? of_register(i.sources[1]) : constant(i.immediate));
    case E::CompareMemory:
      return set_flags(memory, i.sources[0] >= 0 ? source : constant(i.immediate));
    case E::Test:
      return set_flags(source, constant(0), i.immediate);
    case E::TestMemory:
      return set_flags(memory, constant(0), i.immediate);
    case E::Other:
      break;
  }
  set_register(i.target, result);
  if (i.stores && of_stack(i.memory)) stack_.erase(stack_word(i.memory));
  if (i.kind == CodeKind::k_call)
    for (const int8_t name : kLostByCalls) registers_[name] = kNothing;
  if (i.kind == CodeKind::k_integer || i.kind == CodeKind::k_integer_multiply || i.kind == CodeKind::k_call)
    set_flags(kNothing, kNothing);
}

void CodeValues::begin_loop(int loop, const Instruction& i) {
  if (i.kind == CodeKind::k_call)
    for (const int8_t name : kLostByCalls) registers_[name] = {CodeValue::Symbol, loop, name, 0};
  if (i.target >= 0 && i.target < 16) registers_[i.target] = {CodeValue::Symbol, loop, i.target, 0};
  if (i.stores && of_stack(i.memory))
    stack_[stack_word(i.memory)] = {CodeValue::Symbol, loop, kStackPlaces + stack_word(i.memory), 0};
  flags_ = {};
}

CodeValues meet(const CodeValues& a, const CodeValues& b) {
  CodeValues both = CodeValues::unknown();
  for (size_t r = 0; r < both.registers_.size(); ++r)
    if (a.registers_[r] == b.registers_[r]) both.registers_[r] = a.registers_[r];
  for (const auto& [displacement, value] : a.stack_) {
    const auto found = b.stack_.find(displacement);
    if (found != b.stack_.end() && found->second == value) both.stack_.emplace(displacement, value);
  }
  if (a.flags_ == b.flags_ && a.flag_bits_ == b.flag_bits_) both.set_flags(a.flags_[0], a.flags_[1], a.flag_bits_);
  return both;
}

}  // namespace hone::features
