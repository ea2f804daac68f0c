// Functions of an ELF object file for x86-64, as compilers write it, and what they call by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone::features {

struct ObjectFunction {
  std::string name;
  bool exported = false;  // called from outside the object
  std::span<const uint8_t> code;
  std::map<uint64_t, std::string> names;  // of symbols, by the offset in the code where their address stands
};

// Views into `object`, in the order of the code. Throws Error for what is no such file.
std::vector<ObjectFunction> functions_of_object(std::string_view object);

}  // namespace hone::features
