// The analytical cost model of a kernel on a CPU, the baseline of learned models. After appendix A of Kaufman et al. 2021
// (the maximum of transfer time and compute time, plus the starts of the tiles), with the caches of a CPU instead of a
// scratchpad, and scaling coefficients per kind of kernel fitted on validation data.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cost/resource_counts.h"
#include "data/dataset.h"
#include "features/columns.h"
#include "features/cpu.h"

namespace hone::cost {

// Flags of an option, each with a factor of the time.
inline constexpr int kOptionFlags = 11;
const char* option_flag_name(int flag);  // "no_unroll", "library_eigen", "library_eigen_few_rows", ...

// Defaults: one core of a server of 2023 at about 3 GHz. All times in ns.
struct AnalyticalCoefficients {
  std::array<double, 3> per_byte = {1.0 / 40, 1.0 / 15, 1.0 / 10};  // from the second cache, the third, memory
  double per_vector_op = 0.17, per_special_op = 0.25, per_scalar_op = 0.5, per_spill_op = 0.3, per_matmul_op = 0.17;
  double per_tile = 5, per_row = 1, launch = 300;
  std::array<std::array<double, kEmitters>, kKernelClasses> scale;  // by kind and emitter
  std::array<double, kOptionFlags> flag;
  AnalyticalCoefficients() {
    for (auto& row : scale) row.fill(1);
    flag.fill(1);
  }
  bool operator==(const AnalyticalCoefficients&) const = default;
};

// In ns: scale * flags * (launch + max(bytes of each cache level, operations) + tiles + rows).
double estimate_ns(const ResourceCounts& demand, KernelClass kind, uint32_t flags, const AnalyticalCoefficients& c);

// The counts of the analytical model for each option of a kernel, as inputs of networks: bytes per cache level, operations by
// kind, tiles, rows, and the run time in ns by the default coefficients.
const std::vector<features::Column>& demand_columns();
// [options, columns] for rows of KernelView::tiles.
std::vector<float> demand_rows(const KernelView& kernel, std::span<const float> tiles, const features::Cpu& cpu);

struct AnalyticalFit {
  // Only rank the options of each kernel: errors shared by all options of a kernel are ignored.
  bool within_kernels = false;
  // Also fit the costs of bytes and operations, not only the scales of kinds and flags.
  bool machine = true;
  int64_t max_options = 40000;  // of all kernels, spread evenly
};

class AnalyticalModel {
 public:
  explicit AnalyticalModel(features::Cpu cpu = features::this_cpu(1)) : cpu_(cpu) {}

  // Run times of the options, ns. Throws Error if widths differ from those of the feature tables.
  std::vector<double> predict(const KernelView& kernel) const;

  // Fits by least squares of the logarithm of run times: the scales in closed form, the machine's costs by coordinate
  // descent. Coefficients that the data do not determine keep their values. Throws Error without kernels.
  void fit(const std::vector<KernelView>& kernels, const AnalyticalFit& options = {});
  void fit(const Dataset& dataset, const std::vector<int64_t>& kernels, const AnalyticalFit& options = {});

  // from_json throws Error (where = what) for other text, and for costs that are not positive.
  nlohmann::json to_json() const;
  static AnalyticalModel from_json(const nlohmann::json& json, const std::string& what = "analytical model");

  // A file of `hone eval --save`, or the defaults for this CPU when the path is empty; its vectors are no wider than `cpu`'s.
  // Throws Error (where = path).
  static AnalyticalModel load(const std::string& path, features::Cpu cpu);

  const features::Cpu& cpu() const { return cpu_; }
  AnalyticalCoefficients& coefficients() { return coefficients_; }
  const AnalyticalCoefficients& coefficients() const { return coefficients_; }

 private:
  features::Cpu cpu_;
  AnalyticalCoefficients coefficients_;
};

}  // namespace hone::cost
