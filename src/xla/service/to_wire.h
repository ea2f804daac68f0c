// Conversions between the wire's tables and the service's own types.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decisions/kernels.h"
#include "decisions/lower.h"
#include "graph/decision.h"
#include "wire/hone_generated.h"
#include "xla/literal.h"

namespace hone::xla_side {

CompileTarget target_of(const wire::TargetT* target);  // null: the default target
uint64_t seed_of(const wire::TargetT* target);
// Throws Error for unknown element types and when the bytes do not fill the shape; `number`: the input's, for messages.
xla::Literal to_literal(const wire::ArrayT& array, size_t number);

std::unique_ptr<wire::ArrayT> to_wire_array(const xla::Literal& literal);
std::vector<std::unique_ptr<wire::CountT>> count_opcodes(const xla::HloModule& module);
std::vector<uint8_t> to_wire_proto(const xla::HloModule& module);
std::unique_ptr<wire::DimensionT> to_wire_dimension(const Dimension& dimension);
std::unique_ptr<wire::KernelT> to_wire_kernel(KernelInfo kernel);

}  // namespace hone::xla_side
