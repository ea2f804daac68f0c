#include "kernels/thread_memory.h"

#include <memory>
#include <new>

namespace hone {

float* thread_memory(int64_t numbers) {
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, std::align_val_t{64}); }
  };
  thread_local std::unique_ptr<float, Free> memory;
  thread_local int64_t size = 0;
  if (size < numbers) {
    memory.reset();
    size = 0;
    memory.reset(static_cast<float*>(::operator new(numbers * sizeof(float), std::align_val_t{64})));
    size = numbers;
  }
  return memory.get();
}

}  // namespace hone
