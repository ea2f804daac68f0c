// What the service answers, as the wire's tables.
#pragma once
#include <memory>

#include "decisions/kernels.h"
#include "graph/decision.h"
#include "wire/hone_generated.h"

namespace hone::xla_side {

std::unique_ptr<wire::DimensionT> to_wire_dimension(const Dimension& dimension);
std::unique_ptr<wire::KernelT> to_wire_kernel(KernelInfo kernel);

}  // namespace hone::xla_side
