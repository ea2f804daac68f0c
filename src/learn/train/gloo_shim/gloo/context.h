// Stubs for Gloo's headers: ProcessGroupGloo.hpp in the torch wheel includes them, but the wheel does not contain them.
// That header uses Gloo's objects through pointers only; the code that needs their definitions is in libtorch_cpu.
#pragma once

#include <chrono>

namespace gloo {
class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};
}  // namespace gloo
