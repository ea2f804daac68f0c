// Layouts ranked by a trained model, through the library that holds it.
#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "cost/learn_library.h"
#include "data/tpugraphs.h"
#include "tune/program/layout_tuner.h"

namespace hone::tune {

LayoutRanker learned_layout_ranker(const std::string& weights, int threads) {
  read_file(weights);  // what is missing is said before the search
  return [weights, threads](const LayoutSpace& layouts, std::span<const Choice> choices) {
    features::TuningModule module;
    module.graph = layouts.graph;
    module.configurable = layouts.nodes;
    for (const Choice& choice : choices) module.runs.push_back(layout_run(layouts, choice, 0));
    const TempDir folder;
    const std::string path = (folder.path() / "program.npz").string();
    write_npz(path, tpu_graph_arrays(tpu_graph_of(module, "program", weights)));
    const nlohmann::json request = {{"data", path}, {"weights", weights}, {"threads", threads}};
    const nlohmann::json reply = cost::run_learn_command("rank layout", request, {interrupted, 0});
    const nlohmann::json& graphs = reply.at("graphs");
    if (graphs.size() != 1) throw InternalError("the model ranked another number of graphs than it was given");
    return graphs[0].at("scores").get<std::vector<double>>();
  };
}

}  // namespace hone::tune
