#include "tune/kernel/transfer.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "features/encode.h"
#include "graph/hlo_reader.h"
#include "graph/kernel_option.h"
#include "tune/kernel/kernel_moves.h"

namespace hone::tune {

namespace {

constexpr double kWorthTelling = 1.03;  // smaller gains are half noise and do not transfer

std::string numbers(const std::vector<int64_t>& values) { return fmt::format("{}", fmt::join(values, ",")); }

std::string shape_text(const Shape& shape) {
  std::string text = fmt::format("{}/{}/{}", shape.element_type, shape.dims.size(), numbers(shape.minor_to_major));
  for (const Shape& part : shape.tuple_shapes) text += "(" + shape_text(part) + ")";
  return text;
}

// One instruction without its name and sizes.
std::string node_text(const Node& node) {
  std::string text = node.opcode + " " + shape_text(node.shape);
  for (int32_t operand : node.operands) text += fmt::format(" {}", operand);
  text += " d" + numbers(node.dimensions) + " " + node.comparison + node.fusion_kind + node.custom_call_target;
  if (node.has_convolution)
    text += fmt::format(" c{} {} {}", node.convolution.input_batch, node.convolution.input_feature, node.window.size());
  const DotNumbers& dot = node.dot;
  text += " " + numbers(dot.lhs_contracting) + ";" + numbers(dot.rhs_contracting) + ";" + numbers(dot.lhs_batch);
  return text;
}

// "128x256", as Record::output_dims.
std::vector<int64_t> dims_from_text(const std::string& text) {
  std::vector<int64_t> dims;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    dims.push_back(std::max<int64_t>(1, std::atoll(text.substr(at, end - at).c_str())));
    at = end + 1;
  }
  return dims;
}

double doublings(int64_t a, int64_t b) {
  return std::abs(
      std::log2(static_cast<double>(std::max<int64_t>(1, a)) / static_cast<double>(std::max<int64_t>(1, b))));
}

// Between two outputs, in doublings; outputs of different ranks are compared by their elements, plus kOtherRank.
double distance(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  double sum = 0;
  if (a.size() == b.size()) {
    for (size_t i = 0; i < a.size(); ++i) sum += doublings(a[i], b[i]);
    return sum;
  }
  constexpr double kOtherRank = 10;
  const auto elements = [](const std::vector<int64_t>& dims) {
    int64_t product = 1;
    for (int64_t d : dims) product *= std::max<int64_t>(1, d);
    return product;
  };
  return kOtherRank + doublings(elements(a), elements(b));
}

}  // namespace

KernelStructure structure_of(const Kernel& kernel) {
  if (kernel.module.empty()) throw Error("a kernel without its module has no structure", kernel.name);
  const HloGraph module = read_hlo_graph(kernel.module);
  std::string exact = kernel.kind;
  std::set<std::string> opcodes;
  for (const Node& node : module.nodes) {
    exact += "\n" + node_text(node);
    static const std::set<std::string> kPlumbing = {"parameter", "constant", "bitcast", "fusion", "tuple", "copy"};
    if (!kPlumbing.contains(node.opcode)) opcodes.insert(node.opcode);
  }
  const Shape output = features::kernel_output(module);
  KernelStructure structure;
  structure.exact = "structure:" + hash_hex(exact);
  structure.rough = "opcodes:" + hash_hex(fmt::format("{} {} {} {}", kernel.kind, output.element_type,
                                                      output.dims.size(), fmt::join(opcodes, " ")));
  structure.dims = output.dims;
  return structure;
}

int translated_option(const Dimension& dimension, const std::string& value, const std::vector<int64_t>& from,
                      const std::vector<int64_t>& to) {
  const KernelOption wanted = KernelOption::parse(value);
  std::vector<int64_t> tile = wanted.tile;
  for (size_t i = 0; i < tile.size() && i < to.size(); ++i)
    if (i < from.size() && tile[i] >= from[i]) tile[i] = to[i];
  int nearest = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < static_cast<int>(dimension.options.size()); ++i) {
    const KernelOption option = KernelOption::parse(dimension.options[i]);
    if (option.flags_text() != wanted.flags_text() || option.tile.size() != tile.size()) continue;
    if (tile.empty() && option.emitter != wanted.emitter) continue;
    const double far = tile.empty() ? 0 : distance(option.tile, tile);
    if (far >= least) continue;
    nearest = i;
    least = far;
  }
  return nearest;
}

void Transfer::remember(const Kernel& kernel, const std::string& value, const Measurement& winner) {
  KernelStructure structure;
  try {
    structure = structure_of(kernel);
  } catch (const Error& e) {
    spdlog::debug("{} is not remembered for similar kernels: {}", kernel.name, e.what());
    return;
  }
  Record row = conditions_;
  row.scope = "kernel";
  row.decisions = value;
  row.status = outcome_name(Outcome::Ok);
  row.verified = true;
  row.baseline_ns = winner.baseline_ns;
  row.candidate_ns = winner.candidate_ns;
  row.ratio = winner.ratio;
  row.ratio_low = winner.ratio_low;
  row.ratio_high = winner.ratio_high;
  row.rounds = std::max(1, winner.rounds);
  row.output_dims = fmt::format("{}", fmt::join(structure.dims, "x"));
  for (const std::string& key : {structure.exact, structure.rough}) {
    row.kernel = key;
    if (problems(row).empty()) database_.add(row);
  }
}

std::vector<int> Transfer::winners(const Database& database, const std::string& host, const std::string& structure,
                                   const Kernel& kernel, const std::vector<int64_t>& dims, int most) const {
  struct Winner {
    double far = 0, gain = 1;  // gain: its lower bound
    std::string value;
    std::vector<int64_t> dims;
  };
  std::vector<Winner> rows;
  for (const Record& row : database.find_kernel(structure, host, conditions_.threads, conditions_.xla_version)) {
    std::vector<int64_t> of = dims_from_text(row.output_dims);
    const double far = distance(of, dims);
    rows.push_back({far, row.ratio_low, row.decisions, std::move(of)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Winner& a, const Winner& b) { return a.far < b.far; });
  std::vector<int> options;
  for (size_t i = 0; i < rows.size() && i < static_cast<size_t>(most); ++i) {
    if (rows[i].gain < kWorthTelling) continue;
    const int option = translated_option(kernel.dimension, rows[i].value, rows[i].dims, dims);
    if (option >= 0 && option != kernel.dimension.default_option &&
        std::find(options.begin(), options.end(), option) == options.end())
      options.push_back(option);
  }
  return options;
}

std::vector<int> Transfer::options(const Kernel& kernel, int most) const {
  try {
    const KernelStructure structure = structure_of(kernel);
    for (const std::string& key : {structure.exact, structure.rough}) {
      std::vector<int> found = winners(database_, conditions_.host, key, kernel, structure.dims, most);
      if (found.empty() && known_) found = winners(*known_, known_class_, key, kernel, structure.dims, most);
      if (!found.empty()) return found;
    }
    return {};
  } catch (const Error& e) {
    spdlog::debug("{} is searched without the winners of similar kernels: {}", kernel.name, e.what());
    return {};
  }
}

}  // namespace hone::tune
