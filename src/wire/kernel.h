// Kernels in messages.
#pragma once

#include "graph/kernel.h"
#include "wire/hone_generated.h"

namespace hone::wire {

// Throws InternalError for a dimension that is none.
hone::Kernel from_wire(const KernelT& kernel);

}  // namespace hone::wire
