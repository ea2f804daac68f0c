// Layouts of a whole program: their space, samples of it, and configurations of the TpuGraphs data set.
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
  HloGraph graph;              // the program when XLA assigns layouts
  Space space;                 // a dimension per configurable instruction: layouts of its result and operands
  std::vector<int64_t> nodes;  // of each dimension, in graph
};

// Of which instructions: those of is_in_layout_data_sets(), or also reductions, broadcasts, concatenations and gathers of at least 4 KiB.
enum class LayoutsOf { DataSet, All };

// From Session::list_layouts(). The dimensions are in the order of their nodes.
LayoutSpace layout_space_from(const wire::ListLayoutsReplyT& reply, LayoutsOf of = LayoutsOf::DataSet);

// Random layouts for a random subset of instructions; XLA chooses the others. The subset's size is log-uniform.
Choice random_layouts(const Space& space, Rng& rng);
// `count` distinct choices, or as many as are found, without XLA's own. At most a third of them change one instruction each,
// those that move most bytes first. Reproducible by seed; a larger count only appends.
std::vector<Choice> sample_layouts(const Space& space, int count, uint64_t seed);

// One configuration as the data set stores it: per configurable node output, input and kernel, -1 = left to XLA.
features::TuningRun layout_run(const LayoutSpace& layouts, const Choice& choice, double runtime_ns);

// The program's graph with the measured choices: XLA's own layouts (the median default of the rows), then one
// configuration per distinct choice among the valid rows. Rows with other decisions are skipped.
TpuGraph to_tpu_graph(const LayoutSpace& layouts, const std::string& name, const std::vector<Record>& rows);

// The decisions of a record's text; false if any is not a layout.
bool layouts_from_text(const std::string& text, Decisions& decisions);

}  // namespace hone
