// Stand-ins for Gloo's own headers, which the torch wheel lacks though it ships ProcessGroupGloo.hpp, which includes them.
// That header keeps Gloo's objects behind pointers; all code that looks inside them is in libtorch_cpu.
#pragma once

#include <chrono>

namespace gloo {
class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};
}  // namespace gloo
