#include "sim/parameters.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/suggest.h"

namespace hone::sim {

namespace {

// Breadth first through elementwise operations of the same shape, not through results of the program.
int32_t nearest_update(const TaskGraph& graph, const Neighbours& consumers, int32_t parameter,
                       std::vector<int32_t>& seen) {
  const Op& like = graph.ops[parameter];
  std::vector<int32_t> reached = {parameter};
  for (size_t at = 0; at < reached.size(); ++at)
    for (int32_t e = consumers.offset[reached[at]]; e < consumers.offset[reached[at] + 1]; ++e) {
      const int32_t to = consumers.list[e];
      const Op& op = graph.ops[to];
      if (seen[to] == parameter || op.kind != OpKind::Elementwise || op.dims != like.dims ||
          op.output_bytes != like.output_bytes)
        continue;
      if (op.is_output) return to;
      seen[to] = parameter;
      reached.push_back(to);
    }
  return kNoUpdate;
}

}  // namespace

Parameters parameters_from_name(const std::string& name) {
  if (name == "copied") return Parameters::Copied;
  if (name == "home") return Parameters::Home;
  throw unknown_word("parameters", name, {"copied", "home"}, "--parameters");
}

std::vector<int32_t> parameter_updates(const TaskGraph& graph) {
  const Neighbours consumers = consumers_of(graph);
  std::vector<int32_t> updates(graph.ops.size(), kNoParameter), seen(graph.ops.size(), -1);
  for (int32_t i = 0; i < graph.size(); ++i)
    if (graph.ops[i].kind == OpKind::Input && graph.ops[i].opcode != "constant")
      updates[i] = nearest_update(graph, consumers, i, seen);
  return updates;
}

Fetches parameter_fetches(const std::vector<int32_t>& updates, const Kernels& kernels,
                          const std::vector<int32_t>& device) {
  Fetches out;
  out.home.assign(updates.size(), -1);
  for (size_t op = 0; op < updates.size(); ++op)
    if (updates[op] >= 0) out.home[op] = device[kernels.kernel_of[updates[op]]];  // a result is never fused away
  std::vector<std::tuple<int32_t, int32_t, int32_t>> wanted;                      // parameter, device, kernel
  for (int32_t k = 0; k < kernels.size(); ++k)
    for (int32_t i = kernels.read_offset[k]; i < kernels.read_offset[k + 1]; ++i) {
      const int32_t op = kernels.read[i];
      if (updates[op] == kNoParameter) continue;
      if (out.home[op] < 0) out.home[op] = device[k];
      if (out.home[op] != device[k]) wanted.emplace_back(op, device[k], k);
    }
  std::sort(wanted.begin(), wanted.end());
  for (const auto& [op, to, kernel] : wanted) {
    if (out.list.empty() || out.list.back().op != op || out.list.back().to != to) {
      const auto begin = static_cast<int32_t>(out.reader.size());
      out.list.push_back({op, out.home[op], to, begin, begin});
    }
    out.reader.push_back(kernel);
    ++out.list.back().end;
  }
  std::stable_sort(out.list.begin(), out.list.end(),
                   [&](const Fetch& a, const Fetch& b) { return out.reader[a.begin] < out.reader[b.begin]; });
  return out;
}

}  // namespace hone::sim
