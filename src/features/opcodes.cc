#include "features/opcodes.h"

#include <array>
#include <unordered_map>

namespace hone::features {
namespace {

constexpr std::array<std::string_view, kOpcodeCount> kNames = [] {
  std::array<std::string_view, kOpcodeCount> names;
  names.fill("unknown");
#define OPCODE(number, text) names[number] = text;
#include "features/opcodes.def"
#undef OPCODE
  return names;
}();

}  // namespace

uint8_t opcode_number(std::string_view opcode) {
  static const std::unordered_map<std::string_view, uint8_t> numbers = {
#define OPCODE(number, text) {text, number},
#include "features/opcodes.def"
#undef OPCODE
  };
  const auto it = numbers.find(opcode);
  return it == numbers.end() ? 0 : it->second;
}

std::string_view opcode_name(int number) {
  return number > 0 && number < kOpcodeCount ? kNames[number] : std::string_view("unknown");
}

}  // namespace hone::features
