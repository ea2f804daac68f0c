// What every seam needs: the wheel's own function, the seam's state, and decisions written on instructions.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "decisions/seam_state.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline SeamState& state(SeamId id) { return seam_state(id); }

// The wheel's own definition, which ours hides.
template <class F>
F original(SeamId id, const char* symbol) {
  void* address = dlsym(RTLD_NEXT, symbol);
  state(id).found = address != nullptr;
  if (address == nullptr) {
    fprintf(stderr, "F seam %s: the wheel lacks %s\n", state(id).name.c_str(), symbol);
    abort();
  }
  return reinterpret_cast<F>(address);
}

inline std::optional<std::string> attribute(const xla::HloInstruction& instruction, const char* name) {
  const auto& map = instruction.frontend_attributes().map();
  auto it = map.find(name);
  if (it == map.end()) return std::nullopt;
  return it->second;
}

}  // namespace hone::xla_side
