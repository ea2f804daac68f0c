#include "learn/nets/batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "base/error.h"

namespace hone::learn {

namespace {

std::string name_of(const KernelView& kernel) { return "kernel " + std::string(kernel.fingerprint); }

void check(const BatchItem& item, const options::FeatureWidths& widths) {
  const KernelView& k = item.kernel;
  const auto size = [](const auto& span) { return static_cast<int64_t>(span.size()); };
  if (k.nodes() == 0) throw Error("the kernel has no nodes", name_of(k));
  if (item.options.empty()) throw Error("the kernel has no options", name_of(k));
  if (size(k.node_features) != k.nodes() * widths.node || size(k.static_features) != widths.static_ ||
      size(k.tiles) % std::max<int64_t>(widths.tile, 1) != 0)
    throw Error("the feature width differs from the model's", name_of(k), "encode with the model's feature version");
  if (k.edge_from.size() != k.edge_to.size()) throw Error("the edge arrays differ in length", name_of(k));
  for (size_t e = 0; e < k.edge_from.size(); ++e)
    for (int32_t end : {k.edge_from[e], k.edge_to[e]})
      if (end < 0 || end >= k.nodes()) throw Error("an edge names a node outside its kernel", name_of(k));
  for (int32_t option : item.options)
    if (option < 0 || option * widths.tile >= std::max<int64_t>(size(k.tiles), 1))
      throw InternalError("option index out of range");
}

// position[node] such that every producer precedes its users; the identity if that already holds.
std::vector<int32_t> topological_positions(const KernelView& kernel) {
  const auto n = static_cast<int32_t>(kernel.nodes());
  std::vector<int32_t> position(n);
  std::iota(position.begin(), position.end(), 0);
  bool sorted = true;
  for (size_t e = 0; e < kernel.edge_from.size(); ++e) sorted &= kernel.edge_from[e] < kernel.edge_to[e];
  if (sorted) return position;
  std::vector<int32_t> missing(n, 0);
  std::vector<std::vector<int32_t>> users(n);
  for (size_t e = 0; e < kernel.edge_from.size(); ++e) {
    users[kernel.edge_from[e]].push_back(kernel.edge_to[e]);
    ++missing[kernel.edge_to[e]];
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t i = 0; i < n; ++i)
    if (missing[i] == 0) ready.push(i);
  int32_t next = 0;
  while (!ready.empty()) {
    const int32_t node = ready.top();
    ready.pop();
    position[node] = next++;
    for (int32_t user : users[node])
      if (--missing[user] == 0) ready.push(user);
  }
  if (next != n) throw Error("the edges of a kernel form a cycle", name_of(kernel));
  return position;
}

struct Edge {
  int32_t node, neighbour;
};

Adjacency make_adjacency(const std::vector<Edge>& edges, int64_t nodes, int64_t cap) {
  Adjacency a;
  std::vector<int32_t> degree(nodes, 0), back_degree(nodes, 0);
  std::vector<Edge> kept;
  kept.reserve(edges.size());
  for (const Edge& edge : edges) {
    if (degree[edge.node] >= cap) continue;
    ++degree[edge.node];
    ++back_degree[edge.neighbour];
    kept.push_back(edge);
  }
  a.begin.assign(nodes + 1, 0);
  a.back_begin.assign(nodes + 1, 0);
  std::partial_sum(degree.begin(), degree.end(), a.begin.begin() + 1);
  std::partial_sum(back_degree.begin(), back_degree.end(), a.back_begin.begin() + 1);
  a.neighbour.resize(kept.size());
  a.back_node.resize(kept.size());
  std::vector<int32_t> place(a.begin.begin(), a.begin.end() - 1),
      back_place(a.back_begin.begin(), a.back_begin.end() - 1);
  for (const Edge& edge : kept) {
    a.neighbour[place[edge.node]++] = edge.neighbour;
    a.back_node[back_place[edge.neighbour]++] = edge.node;
  }
  return a;
}

void add_rows(Rows& rows, int64_t nodes, int64_t copies) {
  rows.node_begin.push_back(rows.node_begin.back() + nodes);
  rows.copy_begin.push_back(rows.copy_begin.back() + copies);
  rows.row_begin.push_back(rows.row_begin.back() + nodes * copies);
}

void copy_values(std::span<const float> from, float* to) { std::copy(from.begin(), from.end(), to); }

void copy_kernel(const BatchItem& item, const std::vector<int32_t>& position, const options::FeatureWidths& widths,
                 int64_t index, GraphBatch& batch) {
  const KernelView& k = item.kernel;
  const int64_t first = batch.per_kernel.node_begin[index], option = batch.per_option.copy_begin[index];
  int64_t* opcodes = batch.opcodes.data_ptr<int64_t>() + first;
  float* features = batch.node_features.data_ptr<float>() + first * widths.node;
  for (int64_t i = 0; i < k.nodes(); ++i) {
    opcodes[position[i]] = k.opcodes[i];
    copy_values(k.node_features.subspan(i * widths.node, widths.node), features + position[i] * widths.node);
  }
  copy_values(k.static_features, batch.static_features.data_ptr<float>() + index * widths.static_);
  std::vector<float> tiles;
  for (int32_t o : item.options) {
    const auto tile = k.tiles.subspan(o * widths.tile, widths.tile);
    tiles.insert(tiles.end(), tile.begin(), tile.end());
  }
  copy_values(cost::option_rows(k, tiles, widths), batch.tiles.data_ptr<float>() + option * widths.option());
  for (size_t o = 0; o < item.options.size(); ++o) {
    const int64_t row = option + static_cast<int64_t>(o);
    batch.option_kernel.data_ptr<int64_t>()[row] = index;
    if (batch.log_runtime.defined())
      batch.log_runtime.data_ptr<float>()[row] = static_cast<float>(std::log(k.runtime_ns[item.options[o]]));
  }
}

std::span<float> values_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

}  // namespace

std::shared_ptr<GraphBatch> make_unscaled_batch(const std::vector<BatchItem>& items,
                                                const options::FeatureWidths& widths, int64_t neighbour_cap) {
  const auto batch = std::make_shared<GraphBatch>();
  for (Rows* rows : {&batch->per_option, &batch->per_kernel})
    rows->node_begin = rows->copy_begin = rows->row_begin = {0};
  bool measured = true;
  for (const BatchItem& item : items) {
    learn::check(item, widths);
    add_rows(batch->per_option, item.kernel.nodes(), static_cast<int64_t>(item.options.size()));
    add_rows(batch->per_kernel, item.kernel.nodes(), 1);
    measured = measured && !item.kernel.runtime_ns.empty();
  }
  const int64_t kernels = batch->kernels(), nodes = batch->per_kernel.nodes(), options = batch->options();
  batch->opcodes = torch::empty({nodes}, torch::kLong);
  batch->node_features = torch::empty({nodes, widths.node});
  batch->static_features = torch::empty({kernels, widths.static_});
  batch->tiles = torch::empty({options, widths.option()});
  batch->option_kernel = torch::empty({options}, torch::kLong);
  if (measured) batch->log_runtime = torch::empty({options});
  std::vector<Edge> producers, users, both;
  for (int64_t index = 0; index < kernels; ++index) {
    const KernelView& k = items[index].kernel;
    const std::vector<int32_t> position = topological_positions(k);
    copy_kernel(items[index], position, widths, index, *batch);
    const auto first = static_cast<int32_t>(batch->per_kernel.node_begin[index]);
    for (size_t e = 0; e < k.edge_from.size(); ++e) {
      const int32_t from = first + position[k.edge_from[e]], to = first + position[k.edge_to[e]];
      producers.push_back({to, from});
      users.push_back({from, to});
      both.push_back({to, from});
      both.push_back({from, to});
    }
  }
  batch->producers = make_adjacency(producers, nodes, neighbour_cap);
  batch->users = make_adjacency(users, nodes, neighbour_cap);
  batch->both = make_adjacency(both, nodes, neighbour_cap);
  return batch;
}

std::shared_ptr<GraphBatch> make_batch(const std::vector<BatchItem>& items, const cost::FeatureScale& scale,
                                       int64_t neighbour_cap) {
  const auto batch = make_unscaled_batch(items, scale.widths(), neighbour_cap);
  scale.node.apply(values_of(batch->node_features));
  scale.static_.apply(values_of(batch->static_features));
  scale.tile.apply(values_of(batch->tiles));
  return batch;
}

}  // namespace hone::learn
