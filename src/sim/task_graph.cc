#include "sim/task_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <queue>
#include <unordered_set>

#include "base/error.h"

namespace hone::sim {

namespace {

constexpr std::array<const char*, kOpKinds> kNames = {"input",  "elementwise", "move", "reduce",
                                                      "matrix", "control",     "other"};

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

void check(const TaskGraph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Op& op : graph.ops) {
    const std::string where = graph.name + ": " + op.name;
    if (!names.insert(op.name).second) throw Error("two operations have the same name", where);
    if (!is_amount(op.flops) || !is_amount(op.special) || !is_amount(op.output_bytes) ||
        !std::isfinite(op.written_bytes))
      throw Error("an operation's FLOPs and bytes must be finite and not negative", where);
  }
  for (const Edge& edge : graph.edges) {
    if (edge.from < 0 || edge.to < 0 || edge.from >= graph.size() || edge.to >= graph.size())
      throw Error("an edge names an operation that does not exist", graph.name);
    if (!is_amount(edge.reads)) throw Error("an edge's reads must be finite and not negative", graph.name);
    if (graph.ops[edge.to].kind == OpKind::Input)
      throw Error("an input reads another operation", graph.name + ": " + graph.ops[edge.to].name);
  }
}

// Follows pending producers until an operation repeats: it is on a cycle.
int32_t on_cycle(const TaskGraph& graph, const std::vector<int32_t>& pending) {
  const Neighbours producers = producers_of(graph);
  int32_t at = static_cast<int32_t>(std::find_if(pending.begin(), pending.end(), [](int32_t p) { return p > 0; }) -
                                    pending.begin());
  std::vector<uint8_t> seen(pending.size(), 0);
  while (!seen[at]) {
    seen[at] = 1;
    for (int32_t e = producers.offset[at]; e < producers.offset[at + 1]; ++e)
      if (pending[producers.list[e]] > 0) {
        at = producers.list[e];
        break;
      }
  }
  return at;
}

Neighbours rows(const TaskGraph& graph, int32_t Edge::* key, int32_t Edge::* value) {
  Neighbours out;
  out.offset.assign(graph.ops.size() + 1, 0);
  out.list.resize(graph.edges.size());
  out.edge.resize(graph.edges.size());
  for (const Edge& edge : graph.edges) ++out.offset[edge.*key + 1];
  for (size_t i = 1; i < out.offset.size(); ++i) out.offset[i] += out.offset[i - 1];
  std::vector<int32_t> next(out.offset.begin(), out.offset.end() - 1);
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const int32_t slot = next[graph.edges[e].*key]++;
    out.list[slot] = graph.edges[e].*value;
    out.edge[slot] = static_cast<int32_t>(e);
  }
  return out;
}

}  // namespace

const char* op_kind_name(OpKind kind) { return kNames.at(static_cast<size_t>(kind)); }

OpKind op_kind_from_name(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end())
    throw Error("unknown kind of operation '" + std::string(name) + "'", "kind",
                "input, elementwise, move, reduce, matrix, control or other");
  return static_cast<OpKind>(found - kNames.begin());
}

Neighbours consumers_of(const TaskGraph& graph) { return rows(graph, &Edge::from, &Edge::to); }
Neighbours producers_of(const TaskGraph& graph) { return rows(graph, &Edge::to, &Edge::from); }

TaskGraph sorted(TaskGraph graph) {
  check(graph);
  const Neighbours consumers = consumers_of(graph);
  std::vector<int32_t> pending(graph.ops.size(), 0), place(graph.ops.size(), -1), order;
  for (const Edge& edge : graph.edges) ++pending[edge.to];
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t i = 0; i < graph.size(); ++i)
    if (pending[i] == 0) ready.push(i);
  while (!ready.empty()) {
    const int32_t at = ready.top();
    ready.pop();
    place[at] = static_cast<int32_t>(order.size());
    order.push_back(at);
    for (int32_t e = consumers.offset[at]; e < consumers.offset[at + 1]; ++e)
      if (--pending[consumers.list[e]] == 0) ready.push(consumers.list[e]);
  }
  if (order.size() < graph.ops.size())
    throw Error("the graph has a cycle", graph.name + ": " + graph.ops[on_cycle(graph, pending)].name,
                "an operation cannot wait for its own result");
  TaskGraph out;
  out.name = std::move(graph.name);
  out.ops.reserve(order.size());
  for (int32_t i : order) out.ops.push_back(std::move(graph.ops[i]));
  out.edges = std::move(graph.edges);
  for (Edge& edge : out.edges) edge = {place[edge.from], place[edge.to], edge.reads};
  std::sort(out.edges.begin(), out.edges.end(),
            [](const Edge& a, const Edge& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
  for (size_t e = 1; e < out.edges.size(); ++e)
    if (out.edges[e].from == out.edges[e - 1].from && out.edges[e].to == out.edges[e - 1].to)
      throw Error("an edge is given twice",
                  out.name + ": " + out.ops[out.edges[e].from].name + " to " + out.ops[out.edges[e].to].name);
  return out;
}

}  // namespace hone::sim
