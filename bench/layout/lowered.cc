// What predicted run times after lowering say about measured layouts (docs/results/layouts.md).
//
//   bench_layout_lowered PROGRAM FILE.npz MACHINE_FOLDER MODEL [SEED]
//
// FILE.npz: layouts of the program that `hone collect layout` measured with this seed (default 0); MACHINE_FOLDER: a data set of the
// machine that measured them; MODEL: a folder of trees of run times. Prints a JSON object for each measured layout that can be lowered.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "cost/ensemble.h"
#include "data/layout_space.h"
#include "features/machine_record.h"
#include "report/program_file.h"
#include "tune/program/fusion_model.h"
#include "tune/session/session.h"

using namespace hone;

namespace {

using Row = std::vector<float>;

// Run times by what the file says of a layout. Equal configurations are one.
std::map<Row, double> measured_rows(const TpuGraph& graph) {
  std::map<Row, double> rows;
  const size_t width = graph.config_feat.size() / graph.configurations();
  for (int64_t c = 0; c < graph.configurations(); ++c) {
    const float* begin = graph.config_feat.data() + c * width;
    rows.emplace(Row(begin, begin + width), graph.runtime_ns[c]);
  }
  return rows;
}

int64_t changed_nodes(const Choice& choice, const Choice& own) {
  int64_t changed = 0;
  for (size_t i = 0; i < choice.size(); ++i) changed += choice[i] != own[i];
  return changed;
}

void compare(const char* const* arguments, uint64_t seed) {
  const std::string path = arguments[0], name = std::filesystem::path(arguments[1]).stem().string();
  const TpuGraph measured = read_tpu_graph(arguments[1]);
  const auto times = measured_rows(measured);
  const auto machine = features::read_machine_file(arguments[2]);
  if (!machine) throw Error("the data set does not say which machine it is of", arguments[2]);
  const auto model = tune::open_fusion_model(arguments[3], machine->properties);
  tune::SessionOptions options;
  options.target.seed = seed;
  tune::Session session(options);
  session.load(report::read_program(path).bytes, name);
  const LayoutSpace layouts = layout_space_from(session.list_layouts());
  std::vector<Choice> choices = sample_layouts(layouts.space, static_cast<int>(measured.configurations()) + 20, seed);
  choices.insert(choices.begin(), layouts.space.default_choice());
  features::TuningModule module;
  module.graph = layouts.graph;
  module.configurable = layouts.nodes;
  for (const Choice& choice : choices) module.runs.push_back(layout_run(layouts, choice, 1));
  const TpuGraph drawn = tpu_graph_of(module, name, name);
  const size_t width = drawn.config_feat.size() / choices.size();
  size_t found = 0;
  for (size_t c = 0; c < choices.size(); ++c) {
    const float* begin = drawn.config_feat.data() + c * width;
    const auto known = times.find(Row(begin, begin + width));
    if (known == times.end()) continue;
    const double start = steady_s();
    try {
      const Lowered lowered = session.lower(layouts.space.decisions(choices[c]), /*want_fusion=*/false);
      double runs = 0;
      for (const Kernel& kernel : lowered.kernels) runs += kernel.runs;
      std::printf("%s\n", nlohmann::json({{"program", name},
                                          {"runtime_ns", known->second},
                                          {"default", c == 0},
                                          {"changed", changed_nodes(choices[c], choices[0])},
                                          {"predicted_ns", model->program_ns(lowered)},
                                          {"runs", runs},
                                          {"instructions", lowered.instructions},
                                          {"ms", ms_since(start)}})
                              .dump()
                              .c_str());
      ++found;
    } catch (const Error& e) {
      std::fprintf(stderr, "%s: layout %zu is left out: %s\n", name.c_str(), c, e.what());
    }
  }
  std::fprintf(stderr, "%s: %zu of %zu measured layouts\n", name.c_str(), found, times.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "bench_layout_lowered PROGRAM FILE.npz MACHINE_FOLDER MODEL [SEED]\n");
    return 2;
  }
  try {
    compare(argv + 1, argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 0);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_layout_lowered: %s\n", e.what());
    return 1;
  }
  return 0;
}
