// Memory that a thread keeps from one call of a kernel to the next.
#pragma once

#include <cstdint>

namespace hone {

// At least so many numbers, aligned to 64 bytes, with any values. Valid until the thread's next call.
float* thread_memory(int64_t numbers);

}  // namespace hone
