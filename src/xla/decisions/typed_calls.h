// Typed custom calls into kernels/: their attribute, and threads of XLA's pool.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace hone::xla_side {

// The attribute "plan" of a call as a backend configuration, and what was given to it.
std::string plan_attribute(std::string_view plan);
std::string plan_of_attribute(std::string_view configuration);

// Runs work(0) to work(count - 1) in the pool. The thread that calls takes part, so that it ends though all others may be waiting
// for it. Throws what one of them threw.
void in_pool(xla::ffi::ThreadPool& pool, size_t count, const std::function<void(size_t)>& work);

}  // namespace hone::xla_side
