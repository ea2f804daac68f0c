// Fingerprints of kernels and modules: what databases, decisions and caches know them by.
#pragma once

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Fingerprint of a kernel: equal for fusions, dots and convolutions that compile to the same code.
std::string kernel_fingerprint(const xla::HloInstruction& kernel);
// The same without the name of the fused computation, which says in what order fusions were made: equal for equal kernels of
// one program and of programs fused otherwise.
std::string content_fingerprint(const xla::HloInstruction& kernel);
std::string module_fingerprint(const xla::HloModule& module);

}  // namespace hone::xla_side
