// How kernels have their parts computed: by the caller's threads.
#pragma once

#include <cstddef>
#include <functional>

namespace hone {

// Runs work(0) to work(count - 1), perhaps at the same time, and returns when all have ended.
using ForEach = std::function<void(size_t count, const std::function<void(size_t)>& work)>;

}  // namespace hone
