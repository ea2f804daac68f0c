// Kinds of inputs on which the outputs of a program are compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hone {

enum class InputKind : int8_t { Ordinary = 0, Zeros, Ties, Special, Denormal, Large, Indices };

struct InputKindTraits {
  InputKind kind;
  const char* name;
  const char* words;  // what the inputs hold, for people
};

std::span<const InputKindTraits> input_kinds();           // in the order of the enumerators
const char* input_kind_name(InputKind kind);              // throws InternalError
InputKind input_kind_from_name(const std::string& name);  // throws Error
std::vector<std::string> input_kind_names();

}  // namespace hone
