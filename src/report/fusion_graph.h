// The kernels of a lowered program as a drawing: kernels, the operations fused into them, and data flow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/hlo_graph.h"

namespace hone::report {

struct DrawnNode {
  std::string name, opcode;                         // of the instruction: "transpose_add_fusion.1", "fusion"
  std::string kernel;                               // its kernel's fingerprint; empty when it is none
  std::string shape;                                // of its result: "f32[64,128]"
  std::vector<std::pair<std::string, int>> inside;  // opcodes fused into it and how often, most frequent first
  std::vector<std::string> inputs;                  // parameters and constants it reads
  double x = 0, y = 0, width = 0;                   // of its box; all boxes are kBoxHeight high
};

struct DrawnEdge {
  int32_t from = 0, to = 0;
  std::vector<std::pair<double, double>> via;  // points it passes, from top to bottom
};

// A computation with a drawing of its own: the entry, the bodies of loops, the branches of conditionals.
struct DrawnPart {
  std::string title;  // "entry", "body of while.3"
  double x = 0, y = 0, width = 0, height = 0;
};

struct DrawnGraph {
  std::vector<DrawnNode> nodes;
  std::vector<DrawnEdge> edges;
  std::vector<DrawnPart> parts;
  double width = 0, height = 0;
  int64_t instructions = 0, fusions = 0, fused = 0;  // of the module; fusions, and the instructions inside them
};

inline constexpr double kBoxHeight = 38;

// `kernels`: instruction name -> fingerprint. Instructions that do no work (bitcast, tuple, get-tuple-element, parameters,
// constants) are not drawn; edges go through them.
DrawnGraph draw_graph(const HloGraph& module, const std::map<std::string, std::string>& kernels);

// "f32[64,128]", "(f32[2], s32[])".
std::string shape_text(const Shape& shape);

}  // namespace hone::report
