// A program as it reaches XLA's fusion pass: many fusion configurations are made of it without the passes before.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/decision.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Decisions that change nothing before the fusion pass: the fusion of edges, and whether producers may be duplicated.
bool decided_by_fusion(const Decision& decision);

// Kernels by content_fingerprint().
struct CountedKernel {
  const xla::HloInstruction* first = nullptr;  // in the module they were counted in
  int count = 0;
};
using CountedKernels = std::map<std::string, CountedKernel>;
bool same_kernels(const CountedKernels& a, const CountedKernels& b);

// Counts by printing every kernel.
CountedKernels count_kernels(xla::HloModule& module);

class FusionSnapshot {
 public:
  // `module`: from lower()'s `snapshot`.
  explicit FusionSnapshot(std::unique_ptr<xla::HloModule> module);

  // XLA's own fusion pass under the decisions, on a copy, and those of XLA's passes after it that make, merge or drop
  // kernels of a program for one thread. No copies between kernels are made and no loops hoisted: the kernels are those of
  // lower(), the module is not. Throws RunError when a pass fails.
  std::unique_ptr<xla::HloModule> fuse(const Decisions& decisions) const;

  // Kernels of a module that fuse() made. Prints only those that are not made of the snapshot's instructions in a way seen
  // before.
  CountedKernels count(xla::HloModule& fused);

 private:
  const std::string& fingerprint(const xla::HloInstruction& kernel);

  std::unique_ptr<xla::HloModule> module_;
  absl::flat_hash_map<std::string, size_t> content_;            // hashes of the snapshot's instructions, by tag
  absl::flat_hash_map<std::string, std::string> fingerprints_;  // by all hashes of a kernel
};

}  // namespace hone::xla_side
