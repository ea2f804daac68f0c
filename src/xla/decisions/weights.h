// Parameters declared constant between calls: stored transposed, packed once by YNNPACK, or folded into the program.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "decisions/compile_target.h"
#include "graph/decision.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// Rewrites the entry computation for the storage of each parameter. A transposed parameter is a matrix whose rows and
// columns are swapped in memory; dots that read it contract the other dimension, other users see a transpose.
// A constant parameter remains in the signature and is not read. Throws Error when a storage does not fit.
void apply_weight_storage(xla::HloModule& module, const std::vector<Storage>& storage,
                          const std::vector<xla::Literal>* inputs);

// Storage of every parameter under the decisions. Throws Error for weights that are not in `declared`.
std::vector<Storage> weight_storage(const xla::HloModule& module, const std::vector<int>& declared,
                                    const Decisions& decisions);

// The entry computation's instructions that do work and read nothing but declared weights and constants, directly or by way of such
// instructions: what constant weights would have computed once. By name.
std::vector<std::string> computed_of_weights(const xla::HloModule& module, const std::vector<int>& declared);

// Marks packed parameters in a lowered module, and reads the marks when code is generated for it.
void mark_packed(xla::HloModule& module, const std::vector<Storage>& storage);
std::set<int64_t> marked_packed(const xla::HloModule& module);

}  // namespace hone::xla_side
