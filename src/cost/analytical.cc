#include "cost/analytical.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "features/columns.h"
#include "features/encoded.h"

namespace hone::cost {

namespace {

using nlohmann::json;

// Libraries have two flags each, since their order reverses when a matrix has few rows.
constexpr int kLibraries = 4, kFirstLibrary = 3;
constexpr const char* kFlags[kOptionFlags] = {"no_unroll",
                                              "no_slp",
                                              "small_code",
                                              "library_eigen",
                                              "library_ynn",
                                              "library_llvm",
                                              "library_naive",
                                              "library_eigen_few_rows",
                                              "library_ynn_few_rows",
                                              "library_llvm_few_rows",
                                              "library_naive_few_rows"};
constexpr int kFitted = kKernelClasses * kEmitters + kOptionFlags;  // columns of the linear part
// Weight of the square of a coefficient's logarithm in the fit, relative to a kernel's squared error: a prior, so that few
// kernels cannot move a coefficient far, and coefficients that the data do not determine keep their values.
constexpr double kRidge = 0.1;
constexpr double kMachineRidge = 0.1;

struct Cost {
  const char* name;
  double& (*of)(AnalyticalCoefficients&);
};
constexpr int kCosts = 11;
const Cost kCostTable[kCosts] = {
    {"per_byte_l2", [](AnalyticalCoefficients& c) -> double& { return c.per_byte[0]; }},
    {"per_byte_l3", [](AnalyticalCoefficients& c) -> double& { return c.per_byte[1]; }},
    {"per_byte_memory", [](AnalyticalCoefficients& c) -> double& { return c.per_byte[2]; }},
    {"per_vector_op", [](AnalyticalCoefficients& c) -> double& { return c.per_vector_op; }},
    {"per_special_op", [](AnalyticalCoefficients& c) -> double& { return c.per_special_op; }},
    {"per_scalar_op", [](AnalyticalCoefficients& c) -> double& { return c.per_scalar_op; }},
    {"per_spill_op", [](AnalyticalCoefficients& c) -> double& { return c.per_spill_op; }},
    {"per_matmul_op", [](AnalyticalCoefficients& c) -> double& { return c.per_matmul_op; }},
    {"per_tile", [](AnalyticalCoefficients& c) -> double& { return c.per_tile; }},
    {"per_row", [](AnalyticalCoefficients& c) -> double& { return c.per_row; }},
    {"launch", [](AnalyticalCoefficients& c) -> double& { return c.launch; }},
};

uint32_t flags_of(const LoopNest& kernel, std::span<const float> option) {
  static const std::array<int, kFirstLibrary + kLibraries> columns = [] {
    std::array<int, kFirstLibrary + kLibraries> found{};
    const auto& all = features::tile_columns();
    for (int f = 0; f < kFirstLibrary + kLibraries; ++f)
      for (size_t i = 0; i < all.size(); ++i)
        if (all[i].name == kFlags[f]) found[f] = static_cast<int>(i);
    return found;
  }();
  uint32_t flags = 0;
  for (int f = 0; f < kFirstLibrary + kLibraries; ++f) {
    const bool other_regime = f >= kFirstLibrary && kernel.few_rows;
    flags |= (option[columns[f]] > 0 ? 1u : 0u) << (other_regime ? f + kLibraries : f);
  }
  return flags;
}

double unscaled_ns(const ResourceCounts& d, const AnalyticalCoefficients& c) {
  const double compute = d.vector_ops * c.per_vector_op + d.special_ops * c.per_special_op +
                         d.scalar_ops * c.per_scalar_op + d.spill_ops * c.per_spill_op + d.matmul_ops * c.per_matmul_op;
  double longest = compute;
  for (int level = 0; level < 3; ++level) longest = std::max(longest, d.bytes[level] * c.per_byte[level]);
  return c.launch + longest + d.tiles * c.per_tile + d.rows * c.per_row;
}

int scale_column(KernelClass kind, Emitter emitter) {
  return static_cast<int>(kind) * kEmitters + static_cast<int>(emitter);
}

// One measured option.
struct Sample {
  ResourceCounts demand;
  int kernel;
  int scale;  // column of the linear part
  uint32_t flags;
  double log_ns;
};

// log time = log unscaled_ns(machine) + log scale + sum of log flags, with equal weight for every kernel.
// For given costs of the machine the best scales are those of a ridge regression with a constant matrix.
class Fit {
 public:
  Fit(std::vector<Sample> samples, int kernels, bool within) : samples_(std::move(samples)), within_(within) {
    weight_.assign(kernels, 0);
    for (const Sample& s : samples_) weight_[s.kernel] += 1;
    for (double& w : weight_) w = w > 0 ? 1 / w : 0;
    gram();
  }

  // The least sum of squared errors; also sets solution_.
  double loss(const AnalyticalCoefficients& c) {
    std::vector<double> residual(samples_.size()), mean(weight_.size());
    for (size_t i = 0; i < samples_.size(); ++i) {
      residual[i] = samples_[i].log_ns - std::log(unscaled_ns(samples_[i].demand, c));
      mean[samples_[i].kernel] += residual[i] * weight_[samples_[i].kernel];
    }
    std::array<double, kFitted> right{};
    double squares = 0;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const Sample& s = samples_[i];
      const double w = weight_[s.kernel], r = residual[i] - (within_ ? mean[s.kernel] : 0);
      squares += w * r * r;
      right[s.scale] += w * r;
      for (int f = 0; f < kOptionFlags; ++f)
        if (s.flags >> f & 1) right[kKernelClasses * kEmitters + f] += w * r;
    }
    solution_ = solve(right);
    for (int i = 0; i < kFitted; ++i) squares -= solution_[i] * right[i];
    return squares;
  }

  const std::array<double, kFitted>& solution() const { return solution_; }  // logarithms

 private:
  void gram() {
    std::vector<std::array<double, kFitted>> means(weight_.size());
    for (const Sample& s : samples_)
      for (int column : columns_of(s)) {
        means[s.kernel][column] += weight_[s.kernel];
        for (int other : columns_of(s)) factor_[column][other] += weight_[s.kernel];
      }
    if (within_)
      for (size_t k = 0; k < means.size(); ++k)
        for (int i = 0; i < kFitted; ++i)
          for (int j = 0; j < kFitted && means[k][i] > 0; ++j) factor_[i][j] -= means[k][i] * means[k][j];
    for (int i = 0; i < kFitted; ++i) factor_[i][i] += kRidge;
    for (int i = 0; i < kFitted; ++i)  // Cholesky
      for (int j = 0; j <= i; ++j) {
        double sum = factor_[i][j];
        for (int k = 0; k < j; ++k) sum -= factor_[i][k] * factor_[j][k];
        factor_[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / factor_[j][j];
      }
  }

  static std::vector<int> columns_of(const Sample& s) {
    std::vector<int> columns = {s.scale};
    for (int f = 0; f < kOptionFlags; ++f)
      if (s.flags >> f & 1) columns.push_back(kKernelClasses * kEmitters + f);
    return columns;
  }

  std::array<double, kFitted> solve(std::array<double, kFitted> x) const {
    for (int i = 0; i < kFitted; ++i) {
      for (int k = 0; k < i; ++k) x[i] -= factor_[i][k] * x[k];
      x[i] /= factor_[i][i];
    }
    for (int i = kFitted - 1; i >= 0; --i) {
      for (int k = i + 1; k < kFitted; ++k) x[i] -= factor_[k][i] * x[k];
      x[i] /= factor_[i][i];
    }
    return x;
  }

  std::vector<Sample> samples_;
  std::vector<double> weight_;  // of each sample of a kernel
  bool within_;
  std::array<std::array<double, kFitted>, kFitted> factor_{};
  std::array<double, kFitted> solution_{};
};

// Multiplies or divides each cost in turn by a factor while the loss decreases; the factor shrinks.
void descend(Fit& fit, AnalyticalCoefficients& c) {
  const AnalyticalCoefficients start = c;
  const auto loss = [&] {
    double away = 0;
    AnalyticalCoefficients from = start;
    for (const Cost& cost : kCostTable) away += std::pow(std::log(cost.of(c) / cost.of(from)), 2);
    return fit.loss(c) + kMachineRidge * away;
  };
  double best = loss();
  for (double factor : {4.0, 2.0, 1.4, 1.15, 1.05})
    for (int round = 0; round < 3; ++round) {
      const double before = best;
      for (const Cost& cost : kCostTable)
        for (double step : {factor, 1 / factor}) {
          double& value = cost.of(c);
          for (int i = 0; i < 4; ++i) {
            value *= step;
            const double tried = loss();
            if (!(tried < best)) {
              value /= step;
              break;
            }
            best = tried;
          }
        }
      if (best > before * 0.999) break;
    }
}

}  // namespace

const char* option_flag_name(int flag) { return kFlags[flag]; }

double estimate_ns(const ResourceCounts& demand, KernelClass kind, uint32_t flags, const AnalyticalCoefficients& c) {
  double ns = unscaled_ns(demand, c) * c.scale[static_cast<int>(kind)][static_cast<int>(demand.emitter)];
  for (int f = 0; f < kOptionFlags; ++f)
    if (flags >> f & 1) ns *= c.flag[f];
  return ns;
}

const std::vector<features::Column>& demand_columns() {
  using features::Scale;
  static const std::vector<features::Column> columns = {
      {"demand_bytes_l2", Scale::Log},   {"demand_bytes_l3", Scale::Log},    {"demand_bytes_memory", Scale::Log},
      {"demand_vector_ops", Scale::Log}, {"demand_scalar_ops", Scale::Log},  {"demand_special_ops", Scale::Log},
      {"demand_spill_ops", Scale::Log},  {"demand_matmul_ops", Scale::Log},  {"demand_tiles", Scale::Log},
      {"demand_rows", Scale::Log},       {"demand_estimate_ns", Scale::Log},
  };
  return columns;
}

std::vector<float> demand_rows(const KernelView& kernel, std::span<const float> tiles, const features::Cpu& cpu) {
  static const AnalyticalCoefficients defaults;
  const LoopNest nest = loop_nest_of(kernel);
  const size_t width = features::tile_feature_count();
  std::vector<float> rows;
  for (size_t at = 0; at + width <= tiles.size(); at += width) {
    const std::span<const float> option = tiles.subspan(at, width);
    const ResourceCounts d = count_resources(nest, option, cpu);
    for (double value : {d.bytes[0], d.bytes[1], d.bytes[2], d.vector_ops, d.scalar_ops, d.special_ops, d.spill_ops,
                         d.matmul_ops, d.tiles, d.rows, estimate_ns(d, nest.kind, flags_of(nest, option), defaults)})
      rows.push_back(static_cast<float>(value));
  }
  return rows;
}

std::vector<double> AnalyticalModel::predict(const KernelView& kernel) const {
  const LoopNest nest = loop_nest_of(kernel);
  const size_t width = features::tile_feature_count();
  if (kernel.tiles.size() % width != 0)
    throw Error("an option's features have the wrong width", std::string(kernel.fingerprint),
                "collect the data set again");
  std::vector<double> out;
  for (size_t at = 0; at < kernel.tiles.size(); at += width) {
    const std::span<const float> option = kernel.tiles.subspan(at, width);
    out.push_back(estimate_ns(count_resources(nest, option, cpu_), nest.kind, flags_of(nest, option), coefficients_));
  }
  return out;
}

void AnalyticalModel::fit(const std::vector<KernelView>& kernels, const AnalyticalFit& options) {
  int64_t all = 0;
  for (const KernelView& kernel : kernels) all += kernel.options();
  if (all == 0) throw Error("no kernel to fit the analytical model on", "validation part of the split");
  const int64_t stride = std::max<int64_t>(1, all / std::max<int64_t>(1, options.max_options));
  const size_t width = features::tile_feature_count();
  std::vector<Sample> samples;
  int64_t seen = 0;
  int distinct = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const bool skipped = stride > 1 && static_cast<int64_t>(i) % stride != 0;
    if (options.within_kernels && (kernels[i].options() < 2 || skipped)) continue;
    const LoopNest nest = loop_nest_of(kernels[i]);
    for (int64_t o = 0; o < kernels[i].options(); ++o) {
      if (!options.within_kernels && seen++ % stride != 0) continue;
      const std::span<const float> option = kernels[i].tiles.subspan(o * width, width);
      const ResourceCounts demand = count_resources(nest, option, cpu_);
      samples.push_back({demand, distinct, scale_column(nest.kind, demand.emitter), flags_of(nest, option),
                         std::log(kernels[i].runtime_ns[o])});
    }
    ++distinct;
  }
  if (samples.empty()) throw Error("no kernel to fit the analytical model on", "validation part of the split");
  Fit fit(std::move(samples), distinct, options.within_kernels);
  if (options.machine) descend(fit, coefficients_);
  fit.loss(coefficients_);
  for (int kind = 0; kind < kKernelClasses; ++kind)
    for (int emitter = 0; emitter < kEmitters; ++emitter)
      coefficients_.scale[kind][emitter] = std::exp(fit.solution()[kind * kEmitters + emitter]);
  for (int f = 0; f < kOptionFlags; ++f)
    coefficients_.flag[f] = std::exp(fit.solution()[kKernelClasses * kEmitters + f]);
}

void AnalyticalModel::fit(const Dataset& dataset, const std::vector<int64_t>& kernels, const AnalyticalFit& options) {
  std::vector<KernelView> views;
  for (int64_t index : kernels) views.push_back(dataset.kernel(index));
  fit(views, options);
}

json AnalyticalModel::to_json() const {
  AnalyticalCoefficients c = coefficients_;
  json costs, scales, flags;
  for (const Cost& cost : kCostTable) costs[cost.name] = cost.of(c);
  for (int kind = 0; kind < kKernelClasses; ++kind)
    for (int emitter = 0; emitter < kEmitters; ++emitter)
      scales[kernel_class_name(static_cast<KernelClass>(kind))][emitter_name(static_cast<Emitter>(emitter))] =
          c.scale[kind][emitter];
  for (int f = 0; f < kOptionFlags; ++f) flags[kFlags[f]] = c.flag[f];
  return {{"model", "analytical"},
          {"feature_version", features::kFeatureVersion},
          {"cpu",
           {{"vector_bits", cpu_.vector_bits},
            {"l1_bytes", cpu_.l1_bytes},
            {"l2_bytes", cpu_.l2_bytes},
            {"l3_bytes", cpu_.l3_bytes},
            {"threads", cpu_.threads}}},
          {"ns", costs},
          {"scale", scales},
          {"flag", flags}};
}

AnalyticalModel AnalyticalModel::from_json(const json& j, const std::string& what) {
  const auto positive = [&](const json& value, const std::string& name) {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0)
      throw Error("\"" + name + "\" is not a positive number", what);
    return value.get<double>();
  };
  try {
    if (j.at("model") != "analytical") throw Error("this is not an analytical model", what);
    if (j.at("feature_version") != features::kFeatureVersion)
      throw Error("the model was fitted on another version of the features", what, "fit it again");
    features::Cpu cpu;
    const json& machine = j.at("cpu");
    cpu.vector_bits = machine.at("vector_bits"), cpu.threads = machine.at("threads");
    cpu.l1_bytes = machine.at("l1_bytes"), cpu.l2_bytes = machine.at("l2_bytes"), cpu.l3_bytes = machine.at("l3_bytes");
    AnalyticalModel model(cpu);
    AnalyticalCoefficients& c = model.coefficients_;
    for (const Cost& cost : kCostTable) cost.of(c) = positive(j.at("ns").at(cost.name), cost.name);
    for (int kind = 0; kind < kKernelClasses; ++kind)
      for (int emitter = 0; emitter < kEmitters; ++emitter) {
        const char* name = kernel_class_name(static_cast<KernelClass>(kind));
        c.scale[kind][emitter] = positive(j.at("scale").at(name).at(emitter_name(static_cast<Emitter>(emitter))), name);
      }
    for (int f = 0; f < kOptionFlags; ++f) c.flag[f] = positive(j.at("flag").at(kFlags[f]), kFlags[f]);
    return model;
  } catch (const json::exception& e) {
    throw Error("this is not an analytical model", what, e.what());
  }
}

AnalyticalModel AnalyticalModel::load(const std::string& path, features::Cpu cpu) {
  if (path.empty()) return AnalyticalModel(cpu);
  const json model = json::parse(shallow_json(read_file(path)), nullptr, /*allow_exceptions=*/false);
  if (model.is_discarded()) throw Error("this is not JSON", path, "hone eval --save writes an analytical model");
  AnalyticalModel fitted = from_json(model, path);
  fitted.cpu_.vector_bits = std::min(fitted.cpu_.vector_bits, cpu.vector_bits);
  return fitted;
}

}  // namespace hone::cost
