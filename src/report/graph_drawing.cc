#include "report/graph_drawing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone::report {

namespace {

constexpr size_t kMaxBends = 40000;
constexpr double kBendWidth = 2, kBendGap = 5;  // the gap between two bends; otherwise the gap of boxes is used
constexpr int kLeastLayerWidth = 14;

using Edges = std::vector<std::pair<int32_t, int32_t>>;

// Boxes and the bends of long edges, all with a layer and a place in it. The first nodes are the boxes.
struct Grid {
  int boxes = 0;
  std::vector<int> layer;
  std::vector<double> width, centre;
  std::vector<std::vector<int>> above, below;  // neighbours in the layers next to it
  std::vector<std::vector<int>> layers;        // nodes from left to right

  int add(int in_layer, double node_width) {
    layer.push_back(in_layer);
    width.push_back(node_width);
    centre.push_back(0);
    above.emplace_back();
    below.emplace_back();
    return static_cast<int>(layer.size()) - 1;
  }
  void connect(int upper, int lower) {
    below[upper].push_back(lower);
    above[lower].push_back(upper);
  }
};

// The layer of each box: below all it depends on, and not with more than about sqrt(boxes) others, so that a program of
// many independent kernels does not become one endless row.
std::vector<int> layers_of(size_t boxes, const Edges& edges) {
  std::vector<std::vector<int>> inputs(boxes), users(boxes);
  for (const auto& [from, to] : edges) {
    inputs[to].push_back(from);
    users[from].push_back(to);
  }
  const int widest = std::max(kLeastLayerWidth, static_cast<int>(1.5 * std::sqrt(static_cast<double>(boxes))));
  std::vector<int> layer(boxes, 0), filled;
  const auto room = [&](int at) {
    if (at >= static_cast<int>(filled.size())) filled.resize(at + 1, 0);
    return filled[at] < widest;
  };
  for (size_t i = 0; i < boxes; ++i) {
    for (int input : inputs[i]) layer[i] = std::max(layer[i], layer[input] + 1);
    while (!room(layer[i])) ++layer[i];
    ++filled[layer[i]];
  }
  // Boxes that depend on nothing move down to their first user.
  for (size_t i = boxes; i-- > 0;) {
    if (!inputs[i].empty() || users[i].empty()) continue;
    int lowest = layer[users[i][0]] - 1;
    for (int user : users[i]) lowest = std::min(lowest, layer[user] - 1);
    while (lowest > layer[i] && !room(lowest)) --lowest;
    if (lowest <= layer[i]) continue;
    --filled[layer[i]];
    ++filled[layer[i] = lowest];
  }
  return layer;
}

// Long edges become chains of bends; `chains` holds the bends of each edge.
Grid make_grid(const std::vector<double>& widths, const Edges& edges, std::vector<std::vector<int>>& chains) {
  Grid grid;
  const std::vector<int> layer = layers_of(widths.size(), edges);
  for (size_t i = 0; i < widths.size(); ++i) grid.add(layer[i], widths[i]);
  grid.boxes = static_cast<int>(widths.size());
  size_t bends = 0;
  for (const auto& [from, to] : edges) bends += layer[to] - layer[from] - 1;
  const bool bend = bends <= kMaxBends;
  chains.resize(edges.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    const auto [from, to] = edges[e];
    int last = from;
    for (int l = layer[from] + 1; bend && l < layer[to]; ++l) {
      const int node = grid.add(l, kBendWidth);
      chains[e].push_back(node);
      grid.connect(last, node);
      last = node;
    }
    if (bend || layer[to] == layer[from] + 1) grid.connect(last, to);
  }
  const int deepest = widths.empty() ? -1 : *std::max_element(grid.layer.begin(), grid.layer.end());
  grid.layers.resize(deepest + 1);
  for (int i = 0; i < static_cast<int>(grid.layer.size()); ++i) grid.layers[grid.layer[i]].push_back(i);
  return grid;
}

double mean(const std::vector<int>& nodes, const std::vector<double>& value, double otherwise) {
  if (nodes.empty()) return otherwise;
  double sum = 0;
  for (int n : nodes) sum += value[n];
  return sum / static_cast<double>(nodes.size());
}

// Orders each layer by the mean place of its neighbours above, then below, and so on.
void order(Grid& grid, int sweeps) {
  std::vector<double> place(grid.layer.size());
  const auto renumber = [&](const std::vector<int>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = static_cast<double>(i);
  };
  for (const auto& nodes : grid.layers) renumber(nodes);
  std::vector<double> wish(grid.layer.size());
  const auto sort_layer = [&](std::vector<int>& nodes, const std::vector<std::vector<int>>& neighbours) {
    for (int n : nodes) wish[n] = mean(neighbours[n], place, place[n]);
    std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) { return wish[a] < wish[b]; });
    renumber(nodes);
  };
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (size_t l = 1; l < grid.layers.size(); ++l) sort_layer(grid.layers[l], grid.above);
    if (sweep + 1 == sweeps) break;  // end with a downward sweep: results below their operands
    for (size_t l = grid.layers.size(); l-- > 1;) sort_layer(grid.layers[l - 1], grid.below);
  }
}

// Centres of one layer that are nearest to `wish` in the least squares sense and keep their order and distances:
// isotonic regression by pooling (Ayer et al. 1955) of the wishes less the width taken from the left.
void place_layer(Grid& grid, const std::vector<int>& nodes, const std::vector<double>& wish, double gap) {
  struct Pool {
    double sum;
    int count;
    double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;
  std::vector<double> offset(nodes.size(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0) {
      const bool bends = nodes[i - 1] >= grid.boxes && nodes[i] >= grid.boxes;
      offset[i] = offset[i - 1] + (grid.width[nodes[i - 1]] + grid.width[nodes[i]]) / 2 + (bends ? kBendGap : gap);
    }
    pools.push_back({wish[i] - offset[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  size_t i = 0;
  for (const Pool& pool : pools)
    for (int n = 0; n < pool.count; ++n, ++i) grid.centre[nodes[i]] = pool.mean() + offset[i];
}

void place(Grid& grid, const LayoutOptions& options) {
  const auto pass = [&](const std::vector<int>& nodes, auto&& wish_of) {
    std::vector<double> wish;
    for (int n : nodes) wish.push_back(wish_of(n));
    place_layer(grid, nodes, wish, options.box_gap);
  };
  for (const auto& nodes : grid.layers) pass(nodes, [](int) { return 0.0; });
  for (int sweep = 0; sweep < options.sweeps; ++sweep) {
    for (const auto& nodes : grid.layers)
      pass(nodes, [&](int n) { return mean(grid.above[n], grid.centre, grid.centre[n]); });
    for (auto l = grid.layers.rbegin(); l != grid.layers.rend(); ++l)
      pass(*l, [&](int n) { return mean(grid.below[n], grid.centre, grid.centre[n]); });
  }
  for (const auto& nodes : grid.layers)
    pass(nodes, [&](int n) {
      const double up = mean(grid.above[n], grid.centre, grid.centre[n]);
      return (up + mean(grid.below[n], grid.centre, up)) / 2;
    });
}

}  // namespace

Layout lay_out(const std::vector<double>& widths, Edges edges, const LayoutOptions& options) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (const auto& [from, to] : edges)
    if (from < 0 || from >= to || to >= static_cast<int32_t>(widths.size()))
      throw InternalError("an edge of the drawing does not go forward");
  std::vector<std::vector<int>> chains;
  Grid grid = make_grid(widths, edges, chains);
  order(grid, options.sweeps);
  place(grid, options);

  double left = grid.layer.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < grid.layer.size(); ++i) left = std::min(left, grid.centre[i] - grid.width[i] / 2);
  const double pitch = options.box_height + options.layer_gap;
  Layout layout;
  for (size_t i = 0; i < grid.layer.size(); ++i)
    layout.width = std::max(layout.width, grid.centre[i] + grid.width[i] / 2 - left);
  for (size_t i = 0; i < widths.size(); ++i)
    layout.boxes.push_back({widths[i], grid.centre[i] - widths[i] / 2 - left, grid.layer[i] * pitch});
  if (!grid.layers.empty()) layout.height = static_cast<double>(grid.layers.size()) * pitch - options.layer_gap;
  for (size_t e = 0; e < edges.size(); ++e) {
    LayoutEdge edge{edges[e].first, edges[e].second, {}};
    for (int bend : chains[e])
      edge.via.emplace_back(grid.centre[bend] - left, grid.layer[bend] * pitch + options.box_height / 2);
    layout.edges.push_back(std::move(edge));
  }
  return layout;
}

}  // namespace hone::report
