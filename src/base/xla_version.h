// The wheel whose XLA the worker and the runtime are built against (requirements.txt has the same version).
#pragma once

namespace hone {

inline constexpr char kXlaVersion[] = "tensorflow-cpu 2.21.0";

}  // namespace hone
