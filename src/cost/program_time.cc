#include "cost/program_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "cost/kernel_features.h"
#include "cost/tree_model.h"

namespace hone::cost {
namespace {

// Chosen on 32 training programs (docs/results/cost-model.md).
constexpr double kHandedOn = 0.1;  // of the bytes that kernels read and write without coming from outside
constexpr double kWarmShare = 0.125;

// Of a copy: its call, a guess, and the bytes that it reads and writes: 90 a nanosecond in the caches (docs/decisions/0064-cold-kernels.md).
// 15 is what the machine of that measurement reads from memory; no program that was measured copies arrays beyond its last cache.
constexpr double kMoveNs = 20, kCacheBytesPerNs = 90, kMemoryBytesPerNs = 15;

}  // namespace

ColdModel ColdModel::open(const std::string& path, const features::Cpu& cpu) {
  return {open_trees(path,
                     {"cold", "cold over warm", kernel_feature_names(),
                      "no trees for kernels whose inputs are out of the caches", "make cold-model trains them again"}),
          cpu};
}

double ColdModel::over_warm(const KernelView& kernel) const {
  const KernelRows rows = kernel_rows({&kernel, 1}, cpu_);
  if (rows.base_ns.size() != 1) throw InternalError("a kernel is cold in one option");
  return std::max(1.0, std::exp(trees_.predict(rows.features)));
}

double working_set(const Lowered& program) {
  double outside = 0, handed_on = 0;
  for (const Kernel& kernel : program.kernels) {
    outside += kernel.outside_bytes;
    handed_on += std::max(0.0, kernel.count * kernel.bytes - kernel.outside_bytes);
  }
  return std::min(outside, program.outside_bytes) + kHandedOn * handed_on;
}

double cold_share(double working_set_bytes, const features::Cpu& cpu) {
  const auto cache = static_cast<double>(std::max(cpu.l3_bytes, cpu.l2_bytes));
  if (cache <= 0 || working_set_bytes <= 0) return 0;
  return std::clamp(std::log(working_set_bytes / (kWarmShare * cache)) / -std::log(kWarmShare), 0.0, 1.0);
}

double moved_ns(std::span<const Moved> moved, const features::Cpu& cpu) {
  const auto cache = static_cast<double>(std::max(cpu.l3_bytes, cpu.l2_bytes));
  double ns = 0;
  for (const Moved& each : moved)
    ns += each.runs * (kMoveNs + each.bytes / (each.bytes <= cache ? kCacheBytesPerNs : kMemoryBytesPerNs));
  return ns;
}

ProgramTime program_time(const Lowered& program, std::span<const KernelTime> times, const features::Cpu& cpu) {
  if (times.size() != program.kernels.size()) throw InternalError("times of other kernels than the program's");
  ProgramTime out;
  out.working_set_bytes = working_set(program);
  out.cold_share = cold_share(out.working_set_bytes, cpu);
  out.moved_ns = moved_ns(program.moved, cpu);
  out.ns = out.moved_ns;
  for (size_t i = 0; i < times.size(); ++i) {
    const Kernel& kernel = program.kernels[i];
    out.warm_ns += kernel.runs * times[i].warm_ns;
    out.ns += kernel.runs * times[i].warm_ns +
              out.cold_share * kernel.count * std::max(0.0, times[i].cold_ns - times[i].warm_ns);
  }
  return out;
}

}  // namespace hone::cost
