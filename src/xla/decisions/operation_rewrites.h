// Decisions of kind rewrite: operations of a program that another form may replace, before any of XLA's passes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "graph/decision.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

struct RewritableOperation {
  std::vector<std::string> values;  // besides "default", most promising first
  double operations = 0;            // arithmetic, summed over those that share the key
  int count = 0;
  std::set<int> parameters;   // that the second operands are made of
  bool of_parameters = true;  // all of them are
};

// Those of a loaded program whose calls are replaced by what they call, by key (graph/decision_families.def).
std::map<std::string, RewritableOperation> rewritable_operations(const xla::HloModule& module);

// Replaces calls by what they call, if anything is decided, and rewrites all operations that are decided: attention in blocks and
// loops by one kernel first, together with the dots in them whatever is decided about those. Attentions that do not have the form of their key's decision stay.
// Throws Error for keys the program does not have and for values an operation does not take.
void apply_rewrites(xla::HloModule& module, const Decisions& decisions);

struct AloneModule {
  std::unique_ptr<xla::HloModule> module;
  std::vector<int> weights;  // its parameters that stand for weights
};

// The first operation of the key as a program of its own, with the transposes and reshapes of its operands. Constants stay
// constants, other operands become parameters. Only for families that are measured by themselves. `weights`: parameters of the
// program that were declared constant between calls. Throws Error for keys the program does not have.
AloneModule operation_alone(const xla::HloModule& module, const std::string& key, const std::vector<int>& weights);

}  // namespace hone::xla_side
