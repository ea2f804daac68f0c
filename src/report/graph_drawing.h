// Places the boxes of a directed graph on a plane, in layers from top to bottom (Sugiyama, Tagawa, Toda 1981): layers of
// bounded width, order within a layer by the mean place of neighbours, positions that keep edges straight.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace hone::report {

struct LayoutBox {
  double width = 0;     // in pixels, given
  double x = 0, y = 0;  // of the left upper corner
};

struct LayoutEdge {
  int32_t from = 0, to = 0;
  // Where it passes between the layers it crosses, centre points from top to bottom; empty for neighbouring layers.
  std::vector<std::pair<double, double>> via;
};

struct Layout {
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
  double width = 0, height = 0;
};

struct LayoutOptions {
  double box_height = 38, layer_gap = 34, box_gap = 14;
  int sweeps = 8;
};

// `edges` are (from, to) with from < to: boxes are in topological order. Duplicates are drawn
// once. The same input gives the same picture. No two boxes overlap and every edge goes downwards. Time grows with the
// number of boxes, edges and crossed layers; edges stop bending around boxes where that would need more than 40,000 points.
// Throws InternalError for an edge that does not go forward.
Layout lay_out(const std::vector<double>& widths, std::vector<std::pair<int32_t, int32_t>> edges,
               const LayoutOptions& options = {});

}  // namespace hone::report
