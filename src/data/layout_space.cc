#include "data/layout_space.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/stats.h"
#include "graph/hlo_reader.h"
#include "graph/layout_choice.h"

namespace hone {

namespace {

constexpr int kTriesPerSample = 200;  // failed tries before a space counts as exhausted

}  // namespace

LayoutSpace layout_space_from(const wire::ListLayoutsReplyT& reply, LayoutsOf of) {
  LayoutSpace out;
  out.graph = read_hlo_graph({reinterpret_cast<const char*>(reply.module_proto.data()), reply.module_proto.size()});
  std::map<std::string, int64_t> nodes;
  for (size_t i = 0; i < out.graph.nodes.size(); ++i) nodes[out.graph.nodes[i].name] = static_cast<int64_t>(i);
  std::vector<std::pair<int64_t, Dimension>> found;
  for (const auto& wire_dimension : reply.dimensions) {
    Dimension dimension = wire::from_wire(*wire_dimension);
    if (dimension.kind != DecisionKind::Layout) continue;
    const auto node = nodes.find(dimension.key);
    if (node == nodes.end())
      throw InternalError("a layout's instruction is not in the worker's graph: " + dimension.key);
    if (of == LayoutsOf::DataSet && !is_in_layout_data_sets(out.graph.nodes[node->second].opcode)) continue;
    found.emplace_back(node->second, std::move(dimension));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [node, dimension] : found) {
    out.nodes.push_back(node);
    out.space.dimensions.push_back(std::move(dimension));
  }
  return out;
}

Choice random_layouts(const Space& space, Rng& rng) {
  Choice choice = space.default_choice();
  if (choice.empty()) return choice;
  const auto count = static_cast<int64_t>(choice.size());
  // 1, 2, 4, ... instructions, up to all, each equally likely.
  int doublings = 0;
  while ((int64_t{2} << doublings) <= count) ++doublings;
  const int64_t about = std::min(count, int64_t{1} << rng.below(doublings + 2));
  const double share = static_cast<double>(about) / static_cast<double>(count);
  const int64_t one = rng.below(count);
  for (int64_t i = 0; i < count; ++i) {
    const auto options = static_cast<int64_t>(space.dimensions[i].options.size());
    const bool decided = rng.uniform() < share;
    const auto option = static_cast<int32_t>(rng.below(options));
    if (decided || i == one) choice[i] = option;
  }
  return choice;
}

std::vector<Choice> sample_layouts(const Space& space, int count, uint64_t seed) {
  std::vector<Choice> samples;
  std::set<Choice> seen = {space.default_choice()};
  std::vector<size_t> order(space.dimensions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return space.dimensions[a].weight > space.dimensions[b].weight; });
  const auto add = [&](const Choice& choice) {
    if (!seen.insert(choice).second) return false;
    samples.push_back(choice);
    return true;
  };
  Rng rng(seed);
  int misses = 0;
  size_t turn = 0;  // every third sample changes one instruction
  while (static_cast<int>(samples.size()) < count && misses < kTriesPerSample && !order.empty()) {
    Choice choice = space.default_choice();
    if (samples.size() % 3 == 0 && misses == 0) {
      const size_t dimension = order[turn++ % order.size()];
      choice[dimension] = static_cast<int32_t>(rng.below(space.dimensions[dimension].options.size()));
    } else {
      choice = random_layouts(space, rng);
    }
    misses = add(choice) ? 0 : misses + 1;
  }
  return samples;
}

features::TuningRun layout_run(const LayoutSpace& layouts, const Choice& choice, double runtime_ns) {
  if (!layouts.space.is_legal(choice)) throw InternalError("the choice does not belong to the space of layouts");
  features::TuningRun run;
  run.runtime_ns = static_cast<int64_t>(runtime_ns + 0.5);
  for (size_t i = 0; i < choice.size(); ++i) {
    const LayoutChoice layout = layout_choice_from_text(layouts.space.dimensions[i].options[choice[i]]);
    run.layouts.push_back({layout.output, layout.input, layout.kernel});
  }
  return run;
}

bool layouts_from_text(const std::string& text, Decisions& decisions) {
  decisions = try_decisions_from_text(text).value_or(Decisions{});
  return !decisions.empty() && std::all_of(decisions.begin(), decisions.end(),
                                           [](const Decision& d) { return d.kind == DecisionKind::Layout; });
}

TpuGraph to_tpu_graph(const LayoutSpace& layouts, const std::string& name, const std::vector<Record>& rows) {
  std::map<Choice, std::vector<double>> ratios;
  std::vector<double> defaults;
  for (const Record& row : rows) {
    Decisions decisions;
    if (row.status != "ok" || !(row.ratio > 0) || !row.baseline.empty()) continue;
    if (!layouts_from_text(row.decisions, decisions)) continue;
    Choice choice;
    try {
      choice = layouts.space.choice(decisions);
    } catch (const Error&) {
      continue;  // measured by a version of Hone with other options
    }
    ratios[choice].push_back(row.ratio);
    defaults.push_back(row.baseline_ns);
  }
  features::TuningModule module;
  module.graph = layouts.graph;
  module.configurable = layouts.nodes;
  if (!defaults.empty()) {
    // One default for all, so that configurations compare by their ratios, which were measured side by side.
    const double default_ns = median(defaults);
    module.runs.push_back(layout_run(layouts, layouts.space.default_choice(), default_ns));
    for (const auto& [choice, measured] : ratios)
      module.runs.push_back(layout_run(layouts, choice, default_ns / median(measured)));
  }
  if (module.configurable.empty()) return tpu_graph_of(module.graph, {}, name, name);
  return tpu_graph_of(module, name, name);
}

}  // namespace hone
