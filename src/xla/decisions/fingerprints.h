// Fingerprints of kernels and modules: their keys in databases, decisions and caches.
#pragma once

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Fingerprint of a kernel: equal for fusions, dots and convolutions that compile to the same code.
std::string kernel_fingerprint(const xla::HloInstruction& kernel);
// The same without the name of the fused computation, which depends on the order of fusions: equal for equal kernels of
// one program under different fusion decisions.
std::string content_fingerprint(const xla::HloInstruction& kernel);
std::string module_fingerprint(const xla::HloModule& module);

}  // namespace hone::xla_side
