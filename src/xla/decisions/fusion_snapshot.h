// A program as it reaches XLA's fusion pass, to lower many fusion configurations without repeating the passes before.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "decisions/seams.h"
#include "graph/decision.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Decisions that change nothing before the fusion pass: the fusion of edges, and whether producers may be duplicated.
bool decided_by_fusion(const Decision& decision);

// Kernels by content_fingerprint().
struct CountedKernel {
  const xla::HloInstruction* first = nullptr;  // in the module they were counted in; null when recalled
  int count = 0;
  double runs = 0;  // in one run of the program, by the trip counts of loops
};
using CountedKernels = std::map<std::string, CountedKernel>;
bool same_kernels(const CountedKernels& a, const CountedKernels& b);

// Counts by printing every kernel.
CountedKernels count_kernels(xla::HloModule& module);

struct RememberedKernels {
  CountedKernels kernels;  // recalled
  int64_t instructions = 0;
};

class FusionSnapshot {
 public:
  // `module`: from lower()'s `snapshot`.
  explicit FusionSnapshot(std::unique_ptr<xla::HloModule> module);

  // XLA's own fusion pass under the decisions, on a copy, and those of XLA's passes after it that make, merge or drop
  // kernels of a program for one thread. No copies between kernels are made and no loops hoisted: the kernels are those of
  // lower(), the module is not. Throws RunError when a pass fails.
  std::unique_ptr<xla::HloModule> fuse(const Decisions& decisions);

  // Kernels of a module that fuse() made. Prints only kernels whose combination of the snapshot's instructions is new.
  CountedKernels count(xla::HloModule& fused);

  // Stores the kernels of the last fuse() for recall(); the latest configurations are kept.
  void remember(const Decisions& decisions, const CountedKernels& kernels, int64_t instructions);
  // The kernels of a remembered configuration that gives the fusion pass the same answers as `decisions`; null when
  // there is none. Both take sorted decisions, at most one per edge.
  const RememberedKernels* recall(const Decisions& decisions);

 private:
  struct Run {
    Decisions decisions;
    EdgeAnswers answers;
    RememberedKernels kernels;
  };

  const std::string& fingerprint(const xla::HloInstruction& kernel);

  std::unique_ptr<xla::HloModule> module_;
  absl::flat_hash_map<std::string, size_t> content_;            // hashes of the snapshot's instructions, by tag
  std::list<Run> runs_;                                         // latest use first
  EdgeAnswers answers_;                                         // of the last fuse()
  absl::flat_hash_map<std::string, std::string> fingerprints_;  // by all hashes of a kernel
};

}  // namespace hone::xla_side
