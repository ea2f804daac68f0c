// Selects the kernels and options of a training step. The batch is a function of seed, step and rank only, so a resumed
// run draws the same batches as an uninterrupted one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "learn/nets/batch.h"

namespace hone::learn {

struct SamplerOptions {
  std::string balance =
      "program";            // a group is drawn evenly, then a kernel of it evenly: "program", "family" or "kernel"
  int64_t kernels = 8;      // per step
  int64_t options = 32;     // of each kernel, at most, without replacement
  int64_t min_options = 1;  // kernels with fewer are left out
};

class Sampler {
 public:
  // The views must stay valid. Throws Error when no kernel is left.
  Sampler(std::vector<KernelView> kernels, const SamplerOptions& options);
  std::vector<BatchItem> sample(uint64_t seed, int64_t step, int64_t rank = 0) const;
  int64_t groups() const { return static_cast<int64_t>(groups_.size()); }

 private:
  std::vector<KernelView> kernels_;
  SamplerOptions options_;
  std::vector<std::vector<int64_t>> groups_;
};

// Seeds of independent streams: equal arguments give equal seeds.
uint64_t mix_seed(uint64_t seed, uint64_t a, uint64_t b = 0);

}  // namespace hone::learn
