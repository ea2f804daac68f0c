#include "cost/kernel_features.h"

#include <algorithm>
#include <cmath>

#include "cost/analytical.h"
#include "cost/kernel_nodes.h"
#include "cost/resource_counts.h"
#include "features/columns.h"

namespace hone::cost {
namespace {

constexpr double kMostRuns = 1e18;

double large(double value) { return std::log1p(std::max(0.0, value)); }

const std::vector<std::vector<std::string_view>>& groups() {
  static const std::vector<std::vector<std::string_view>> all = {
#define GROUP(name, ...) {__VA_ARGS__},
#define KERNEL(name, value)
#define OPTION(name, value)
#include "cost/kernel_features.def"
#undef GROUP
#undef KERNEL
#undef OPTION
  };
  return all;
}

int group_of(std::string_view opcode) {
  const auto& all = groups();
  for (size_t g = 0; g < all.size(); ++g)
    if (std::find(all[g].begin(), all[g].end(), opcode) != all[g].end()) return static_cast<int>(g);
  return -1;
}

// How often the operand is evaluated for one evaluation of the user.
double times_used(const KernelNodes& nodes, int64_t operand, int64_t user) {
  const std::string_view op = nodes.opcode(user);
  const double of_operand = nodes.elements(operand), of_user = std::max(1.0, nodes.elements(user));
  const KernelNodes::Columns& c = KernelNodes::columns();
  if (op == "reduce") return std::max(1.0, of_operand / of_user);
  if (op == "concatenate") return std::min(1.0, of_operand / of_user);
  if ((op == "pad" || op == "dynamic-update-slice" || op == "scatter") && nodes.rank(operand) > 0)
    return std::min(1.0, of_operand / of_user);
  if (op == "reduce-window" || op == "select-and-scatter") return std::max(1.0f, nodes.at(user, c.window));
  if (op == "dot") return std::max(1.0f, nodes.at(user, c.contracted));
  if (op == "convolution") return std::max(1.0f, nodes.at(user, c.window));
  return 1;
}

struct KernelShape {
  LoopNest nest;
  double flops = 0, special = 0, read = 0, written = 0, nodes = 0, results = 0;
  double least_element_bytes = 16, most_element_bytes = 0, f32_share = 0, runs_all = 0, output_elements = 1;
  double unit_bytes = 0, repeated_bytes = 0, strided_bytes = 0, strided_accesses = 0, written_stride = 0;
  double largest_stride = 0, sums_unit = 0, sums_far = 0, largest_parameter = 0, parameter_bytes = 0;
  double contracted = 0, window = 0, window_stride = 0, base_dilation = 0, window_dilation = 0, groups = 0;
  double lhs_contracting = -1, rhs_contracting = -1;
  double reordered_runs = 0, moved_runs = 0, moved_minor = 0, joined_minor = 0, gathered_length = 0, conflicts = 0;
  double integer_runs = 0, f64_runs = 0, half_runs = 0, long_runs = 0, narrow_runs = 0, power_runs = 0, erf_runs = 0;
  double integer_division_runs = 0, sine_runs = 0, sort_runs = 0, chain = 0, moves_chain = 0, gathers_chain = 0;
  double spatial = 0, spatial_elements = 0, out_features = 0, in_features = 0, batch = 0, window_sides = 0;
  double largest_side = 0, padding = 0, features_fastest = 0, dot_rows = 0, dot_columns = 0, dot_batch = 0;
  double slice_elements = 0, slice_minor = 0, gathered_bytes = 0, indices = 0, indices_computed = 0, parameters = 0;
  double scalar_parameters = 0, broadcast_runs = 0, least_parameter = 0;
  double strided_extent = 0, f64 = 0, f16 = 0, s64 = 0, booleans = 0, complex_numbers = 0;
  std::vector<double> count, runs_sum, runs_most;  // by group

  double output(size_t from_fastest) const {
    return from_fastest < nest.order.size() ? nest.extent[nest.order[nest.order.size() - 1 - from_fastest]] : 0;
  }
  double reduced() const {
    double product = 1;
    for (size_t a = nest.outputs; a < nest.extent.size(); ++a) product *= nest.extent[a];
    return product;
  }
  double reduced_last() const {
    return nest.extent.size() > static_cast<size_t>(nest.outputs) ? nest.extent.back() : 0;
  }
};

// The extent of the dimension that is fastest in memory.
double fastest(const KernelNodes& nodes, int64_t n) {
  return nodes.rank(n) == 0 ? 1 : nodes.dim(n, static_cast<int>(nodes.at(n, KernelNodes::columns().layout)));
}

// How a node orders elements otherwise than what it reads.
void note_order(const KernelNodes& nodes, int64_t n, double runs, KernelShape& k) {
  for (const int32_t user : nodes.users(n)) {
    const std::string_view op = nodes.opcode(user);
    if (op == "bitcast" || op == "reshape") {
      const bool same = nodes.rank(n) == 0 || nodes.rank(user) == 0 || fastest(nodes, n) == fastest(nodes, user);
      if (!same) k.reordered_runs += runs;
    }
    if ((op == "transpose" || op == "copy") && fastest(nodes, n) != fastest(nodes, user)) {
      k.moved_runs += runs;
      k.moved_minor = std::max(k.moved_minor, fastest(nodes, n));
    }
    if ((op == "concatenate" || op == "slice" || op == "pad") && nodes.rank(n) > 0)
      k.joined_minor += fastest(nodes, n) != fastest(nodes, user);
  }
  if (nodes.opcode(n) == "gather" && nodes.rank(n) > 0)
    k.gathered_length = std::max(k.gathered_length, nodes.elements(n) / std::max(1.0, nodes.dim(n, 0)));
  const KernelNodes::Columns& c = KernelNodes::columns();
  k.f64 += nodes.at(n, c.is_f64);
  k.f16 += nodes.at(n, c.is_f16) + nodes.at(n, c.is_bf16);
  k.s64 += nodes.at(n, c.is_s64) + nodes.at(n, c.is_u64);
  k.booleans += nodes.at(n, c.is_pred);
  k.complex_numbers += nodes.at(n, c.is_c64);
}

bool is_integer(const KernelNodes& nodes, int64_t n) {
  const KernelNodes::Columns& c = KernelNodes::columns();
  return nodes.at(n, c.is_s32) + nodes.at(n, c.is_u32) + nodes.at(n, c.is_s64) + nodes.at(n, c.is_u64) > 0;
}

bool computes(std::string_view op) {
  return op != "parameter" && op != "constant" && op != "bitcast" && op != "reshape" && op != "broadcast" &&
         op != "tuple" && op != "iota";
}

// How often work on elements of each type runs.
void note_types(const KernelNodes& nodes, int64_t n, double runs, KernelShape& k) {
  const KernelNodes::Columns& c = KernelNodes::columns();
  const std::string_view op = nodes.opcode(n);
  if (!computes(op)) return;
  if (is_integer(nodes, n)) k.integer_runs += runs;
  if (nodes.at(n, c.is_f64) > 0) k.f64_runs += runs;
  if (nodes.at(n, c.is_f16) + nodes.at(n, c.is_bf16) > 0) k.half_runs += runs;
  if (nodes.at(n, c.is_s64) + nodes.at(n, c.is_u64) > 0) k.long_runs += runs;
  if (nodes.at(n, c.element_bytes) == 1) k.narrow_runs += runs;
  if (op == "power") k.power_runs += runs;
  if (op == "erf" || op == "tanh" || op == "logistic") k.erf_runs += runs;
  if (op == "sine" || op == "cosine") k.sine_runs += runs;
  if (op == "sort") k.sort_runs += runs;
  if ((op == "divide" || op == "remainder") && is_integer(nodes, n)) k.integer_division_runs += runs;
}

// Longest chains from a parameter: of instructions, of those that move elements, of gathers.
void measure_chains(const KernelNodes& nodes, KernelShape& k) {
  std::vector<double> all(nodes.size()), moves(nodes.size()), gathers(nodes.size());
  for (int64_t n = 0; n < nodes.size(); ++n) {
    const std::string_view op = nodes.opcode(n);
    bool moved = false;
    for (const int32_t operand : nodes.operands(n)) {
      if (operand >= n) continue;
      all[n] = std::max(all[n], all[operand]);
      moves[n] = std::max(moves[n], moves[operand]);
      gathers[n] = std::max(gathers[n], gathers[operand]);
      moved |= nodes.rank(operand) > 0 && nodes.rank(n) > 0 && fastest(nodes, operand) != fastest(nodes, n);
    }
    all[n] += computes(op);
    moves[n] += moved && (op == "transpose" || op == "copy" || op == "reshape" || op == "bitcast");
    gathers[n] += op == "gather" || op == "dynamic-slice";
    k.chain = std::max(k.chain, all[n]);
    k.moves_chain = std::max(k.moves_chain, moves[n]);
    k.gathers_chain = std::max(k.gathers_chain, gathers[n]);
  }
}

void measure_convolution(const KernelNodes& nodes, int64_t n, KernelShape& k) {
  const KernelNodes::Columns& c = KernelNodes::columns();
  const int feature = static_cast<int>(nodes.at(n, c.output_feature)),
            batch = static_cast<int>(nodes.at(n, c.output_batch));
  k.groups = nodes.at(n, c.groups);
  k.spatial = nodes.rank(n) - 2;
  k.spatial_elements = 1;
  for (int d = 0; d < nodes.rank(n); ++d) {
    if (d == feature) k.out_features = nodes.dim(n, d);
    if (d == batch) k.batch = nodes.dim(n, d);
    if (d != feature && d != batch) k.spatial_elements *= nodes.dim(n, d);
  }
  const double window = std::max(1.0f, nodes.at(n, c.window));
  k.in_features = k.flops / std::max(1.0, 2 * nodes.elements(n) * window);
  for (int d = 0; d < KernelNodes::kRank; ++d) {
    k.window_sides += nodes.at(n, c.window_size + d) > 1;
    k.largest_side = std::max(k.largest_side, static_cast<double>(nodes.at(n, c.window_size + d)));
  }
  k.padding = nodes.at(n, c.padding_low);
  k.features_fastest = static_cast<int>(nodes.at(n, c.layout)) == feature;
}

void measure_dot(const KernelNodes& nodes, int64_t n, KernelShape& k) {
  const int rank = nodes.rank(n);
  k.dot_columns = rank > 0 ? nodes.dim(n, rank - 1) : 1;
  k.dot_rows = rank > 1 ? nodes.dim(n, rank - 2) : 1;
  k.dot_batch = nodes.elements(n) / std::max(1.0, k.dot_rows * k.dot_columns);
}

void measure_gather(const KernelNodes& nodes, int64_t n, KernelShape& k) {
  const KernelNodes::Columns& c = KernelNodes::columns();
  double slice = 1, last = 1;
  for (int d = 0; d < KernelNodes::kRank; ++d)
    if (const double size = nodes.at(n, c.slice_sizes + d); size > 0) slice *= size, last = size;
  k.slice_elements = std::max(k.slice_elements, slice);
  k.slice_minor = std::max(k.slice_minor, last);
  const auto operands = nodes.operands(n);
  if (operands.size() < 2) return;
  // The encoding does not keep their order; where both are integers, the table mostly comes first.
  const bool turned = is_integer(nodes, operands[0]) && !is_integer(nodes, operands[1]);
  const int32_t table = operands[turned ? 1 : 0], indices = operands[turned ? 0 : 1];
  k.gathered_bytes = std::max(k.gathered_bytes, nodes.bytes(table));
  k.indices += nodes.elements(indices);
  int32_t from = indices;
  while (!computes(nodes.opcode(from)) && nodes.operands(from).size() == 1 && nodes.operands(from)[0] < from)
    from = nodes.operands(from)[0];
  k.indices_computed += nodes.opcode(from) != "parameter" && nodes.opcode(from) != "constant";
}

void count_runs(const KernelNodes& nodes, KernelShape& k) {
  std::vector<double> sum(nodes.size()), most(nodes.size());
  k.count.resize(groups().size()), k.runs_sum.resize(groups().size()), k.runs_most.resize(groups().size());
  double f32 = 0;
  for (int64_t n = nodes.size() - 1; n >= 0; --n) {  // users come after what they use
    if (nodes.is_result(n)) sum[n] = most[n] = nodes.elements(n);
    for (const int32_t user : nodes.users(n)) {
      if (nodes.opcode(user) == "tuple") continue;
      const double times = times_used(nodes, n, user);
      sum[n] = std::min(kMostRuns, sum[n] + sum[user] * times);
      most[n] = std::max(most[n], std::min(kMostRuns, most[user] * times));
    }
    const double element = std::max(1.0f, nodes.at(n, KernelNodes::columns().element_bytes));
    k.least_element_bytes = std::min(k.least_element_bytes, element);
    k.most_element_bytes = std::max(k.most_element_bytes, element);
    f32 += nodes.at(n, KernelNodes::columns().is_float);
    note_order(nodes, n, most[n], k);
    note_types(nodes, n, most[n], k);
    if (nodes.opcode(n) == "broadcast" && nodes.rank(n) > 0) k.broadcast_runs += most[n];
    const int g = group_of(nodes.opcode(n));
    if (g < 0) continue;
    k.count[g] += 1;
    k.runs_sum[g] += sum[n];
    k.runs_most[g] += most[n];
    k.runs_all += most[n];
  }
  k.f32_share = nodes.size() > 0 ? f32 / static_cast<double>(nodes.size()) : 0;
}

void measure_nodes(const KernelNodes& nodes, KernelShape& k) {
  const KernelNodes::Columns& c = KernelNodes::columns();
  for (int64_t n = 0; n < nodes.size(); ++n) {
    const std::string_view op = nodes.opcode(n);
    k.results += nodes.is_result(n);
    if (op == "parameter") {
      k.largest_parameter = std::max(k.largest_parameter, nodes.bytes(n));
      k.parameter_bytes += nodes.bytes(n);
      k.parameters += 1;
      k.scalar_parameters += nodes.elements(n) == 1;
      k.least_parameter = k.least_parameter == 0 ? nodes.bytes(n) : std::min(k.least_parameter, nodes.bytes(n));
    }
    if (op == "dot") {
      k.contracted = nodes.at(n, c.contracted);
      k.lhs_contracting = nodes.at(n, c.lhs_contracting);
      k.rhs_contracting = nodes.at(n, c.rhs_contracting);
      measure_dot(nodes, n, k);
    }
    if (op == "convolution" || op == "reduce-window" || op == "select-and-scatter") {
      k.window = nodes.at(n, c.window);
      k.window_stride = nodes.at(n, c.window_stride);
      k.base_dilation = nodes.at(n, c.base_dilation);
      k.window_dilation = nodes.at(n, c.window_dilation);
    }
    if (op == "convolution") measure_convolution(nodes, n, k);
    if (op == "gather") measure_gather(nodes, n, k);
  }
}

void measure_accesses(KernelShape& k) {
  const LoopNest& nest = k.nest;
  PerAxis whole;
  whole.fill(1);
  std::copy(nest.extent.begin(), nest.extent.end(), whole.begin());
  for (int a = 0; a < nest.outputs; ++a) k.output_elements *= nest.extent[a];
  const int inner = nest.order.empty() ? -1 : nest.order.back();
  const int summed =
      nest.extent.size() > static_cast<size_t>(nest.outputs) ? static_cast<int>(nest.extent.size()) - 1 : -1;
  for (const Access& access : nest.accesses) {
    const double touched = footprint_bytes(access, whole), stride = inner < 0 ? 0 : access.stride_bytes[inner];
    if (access.written) k.written_stride = std::max(k.written_stride, stride);
    k.largest_stride = std::max(k.largest_stride, stride);
    (stride == 0 ? k.repeated_bytes : stride <= access.element_bytes ? k.unit_bytes : k.strided_bytes) += touched;
    if (stride > access.element_bytes) {
      k.strided_accesses += 1;
      k.conflicts += std::fmod(stride, 4096.0) == 0;
      k.strided_extent = std::max(k.strided_extent, nest.extent[inner]);
    }
    if (summed >= 0 && access.stride_bytes[summed] > 0)
      (access.stride_bytes[summed] <= access.element_bytes ? k.sums_unit : k.sums_far) += 1;
  }
}

double default_estimate_ns(const ResourceCounts& counts, KernelClass kind) {
  static const AnalyticalCoefficients coefficients;
  return estimate_ns(counts, kind, /*flags=*/0, coefficients);
}

KernelShape shape_of(const KernelView& kernel, const LoopNest& nest) {
  const KernelNodes nodes(kernel);
  KernelShape k;
  k.nest = nest;
  k.flops = kernel.static_features[0];
  k.read = kernel.static_features[1];
  k.written = kernel.static_features[2];
  k.special = kernel.static_features[3];
  k.nodes = static_cast<double>(nodes.size());
  count_runs(nodes, k);
  measure_nodes(nodes, k);
  measure_chains(nodes, k);
  measure_accesses(k);
  return k;
}

}  // namespace

const std::vector<std::string>& kernel_feature_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
#define GROUP(name, ...) all.insert(all.end(), {#name "_count", #name "_runs", #name "_runs_once"});
#define KERNEL(name, value) all.push_back(#name);
#define OPTION(name, value)
#include "cost/kernel_features.def"
#undef OPTION
#undef KERNEL
#undef GROUP
#define GROUP(name, ...)
#define KERNEL(name, value)
#define OPTION(name, value) all.push_back("option_" #name);
#include "cost/kernel_features.def"
#undef GROUP
#undef KERNEL
#undef OPTION
    for (const features::Column& column : features::tile_columns()) all.push_back("option_" + column.name);
    return all;
  }();
  return names;
}

KernelFeatures::KernelFeatures(const KernelView& kernel, const features::Cpu& cpu)
    : nest_(loop_nest_of(kernel)), cpu_(cpu) {
  const KernelShape k = shape_of(kernel, nest_);
  for (size_t g = 0; g < groups().size(); ++g)
    for (const double value : {k.count[g], k.runs_sum[g], k.runs_most[g]})
      of_kernel_.push_back(static_cast<float>(large(value)));
#define GROUP(name, ...)
#define KERNEL(name, value) of_kernel_.push_back(static_cast<float>(value));
#define OPTION(name, value)
#include "cost/kernel_features.def"
#undef GROUP
#undef KERNEL
#undef OPTION
}

double KernelFeatures::append(std::span<const float> option, std::vector<float>& rows) const {
  const ResourceCounts r = count_resources(nest_, option, cpu_);
  const double estimate_ns = default_estimate_ns(r, nest_.kind), analytical = std::log(estimate_ns);
  rows.insert(rows.end(), of_kernel_.begin(), of_kernel_.end());
#define GROUP(name, ...)
#define KERNEL(name, value)
#define OPTION(name, value) rows.push_back(static_cast<float>(value));
#include "cost/kernel_features.def"
#undef GROUP
#undef KERNEL
#undef OPTION
  const auto& columns = features::tile_columns();
  for (size_t i = 0; i < columns.size(); ++i)
    rows.push_back(columns[i].scale == features::Scale::Log ? static_cast<float>(large(option[i])) : option[i]);
  return estimate_ns;
}

}  // namespace hone::cost
