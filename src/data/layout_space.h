// Layouts of a whole program as a space, as samples, and as configurations of the TpuGraphs data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "data/record.h"
#include "data/tpugraphs.h"
#include "graph/decision.h"
#include "graph/hlo_graph.h"
#include "wire/client.h"

namespace hone {

struct LayoutSpace {
  HloGraph graph;              // the program as it is when XLA assigns layouts
  Space space;                 // a dimension per configurable instruction: layouts of its result and operands
  std::vector<int64_t> nodes;  // of each dimension, in graph
};

// From Session::list_layouts(). The dimensions stand in the order of their nodes.
LayoutSpace layout_space_from(const wire::ListLayoutsReplyT& reply);

// A layout for each instruction of a random subset, the rest left to XLA. Small subsets are as likely as large ones.
Choice random_layouts(const Space& space, Rng& rng);
// `count` distinct choices, or as many as there are found; never XLA's own. The first ones change one instruction each,
// those that move most bytes first, for at most a third of them. The same for the same seed; more only append.
std::vector<Choice> sample_layouts(const Space& space, int count, uint64_t seed);

// One configuration as the data set stores it: per configurable node output, input and kernel, -1 = left to XLA.
features::TuningRun layout_run(const LayoutSpace& layouts, const Choice& choice, double runtime_ns);

// The program's graph with the choices measured: XLA's own layouts (the median default of the rows), then one
// configuration per distinct choice among the sound rows. Rows of other decisions are passed over.
TpuGraph to_tpu_graph(const LayoutSpace& layouts, const std::string& name, const std::vector<Record>& rows);

// The decisions of a record's text; false when they are no layouts alone.
bool layouts_from_text(const std::string& text, Decisions& decisions);

}  // namespace hone
