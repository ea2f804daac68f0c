// How long a whole program takes, from the run times of its kernels: each as often as loops run it, and between warm and cold.
//
// A kernel's run time is learnt and measured with inputs that it has just used (warm). In a program whose data exceed the caches it finds
// them in memory (cold), which takes a small kernel three times as long. docs/decisions/0064-cold-kernels.md.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "cost/trees.h"
#include "data/dataset.h"
#include "features/cpu.h"
#include "graph/kernel.h"

namespace hone::cost {

// Trees that predict how many times as long a kernel runs with all its inputs out of the caches (scripts/train_cold_model.py).
class ColdModel {
 public:
  // `file`: trees of tree_model.h whose metadata "task" is "cold" and "predicts" is "cold over warm", its logarithm. Throws Error
  // (where = file) for anything else.
  static ColdModel open(const std::string& file, const features::Cpu& cpu);
  // Of the kernel's only option: at least 1.
  double over_warm(const KernelView& kernel) const;

 private:
  ColdModel(Trees trees, const features::Cpu& cpu) : trees_(std::move(trees)), cpu_(cpu) {}
  Trees trees_;
  features::Cpu cpu_;
};

struct KernelTime {
  double warm_ns = 0, cold_ns = 0;
};

struct ProgramTime {
  double ns = 0;
  double warm_ns = 0;   // if everything stayed in the caches: the sum over kernels, as often as each runs
  double moved_ns = 0;  // of what is no kernel: copies, above all of what loops carry
  double working_set_bytes = 0;
  double cold_share = 0;  // from 0 to 1: how much of the way from warm to cold its kernels are
};

// Bytes that pass through the caches between two uses of the same data: what kernels read from outside, and a tenth of what they hand to
// each other.
double working_set(const Lowered& program);

// 0 up to an eighth of the last cache, 1 from all of it on, in proportion to the logarithm between them; 0 where its size is unknown.
double cold_share(double working_set_bytes, const features::Cpu& cpu);

// Of all that is no kernel, by the bytes that it reads and writes, and whether they fit into the last cache.
double moved_ns(std::span<const Moved> moved, const features::Cpu& cpu);

// `times` are of `program.kernels`. A kernel that a loop runs again and again is cold once at each place that it stands at.
ProgramTime program_time(const Lowered& program, std::span<const KernelTime> times, const features::Cpu& cpu);

}  // namespace hone::cost
