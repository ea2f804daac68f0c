#include "learn/layout/layout_trainer.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "cost/learn_library.h"
#include "data/npz.h"
#include "learn/layout/layout_commands.h"
#include "learn/nets/trained.h"
#include "options/layout_files.h"
#include "tests/learn/callbacks.h"
#include "tests/learn/layout_graphs.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;
using options::ConfigGraph;

namespace {

options::LayoutTrainOptions small_run(const std::string& model) {
  options::LayoutTrainOptions options = options::layout_defaults(model, true);
  options.model.hidden = 16;
  options.model.opcode_embedding = 4;
  options.model.layout_embedding = 2;
  options.model.dropout = 0.1;
  options.split.by = "configs";
  options.split.hold_out = 0.2;
  options.split.folds = 4;
  options.steps = 12;
  options.configs_per_step = 16;
  options.train_folds = 2;
  options.keep = 1;
  options.validate_every = 4;
  options.seed = 3;
  return options;
}

std::string bytes_of(const TrainedLayouts& trained) {
  options::TensorFile file;
  for (size_t i = 0; i < trained.members.size(); ++i)
    put_parameters(*trained.members[i], std::to_string(i) + ".", file);
  return options::encode_safetensors(file);
}

}  // namespace

TEST_CASE("a layout run is a function of data, options and seed, and resumes to the same bits") {
  const TempDir folder;
  const std::vector<ConfigGraph> graphs = {chain_graph(12, 80, 1), chain_graph(9, 60, 2)};
  for (const char* model : {"tgraph", "tgraph-code"}) {
    const options::LayoutTrainOptions options = small_run(model);
    const LayoutTrainReport once = train_layouts(graphs, options, {}, kNeverStop, kSilent);
    CHECK(once.folds.size() == 2);
    CHECK(once.trained.members.size() == 1);
    CHECK(bytes_of(once.trained) == bytes_of(train_layouts(graphs, options, {}, kNeverStop, kSilent).trained));

    LayoutTrainFiles files;
    files.checkpoint = (folder.path() / (std::string(model) + ".ckpt")).string();
    files.checkpoint_every = 5;
    files.resume = true;
    LayoutTrainReport parts;
    for (int turn = 0; turn < 10; ++turn) {  // three steps at a time
      int steps = 0;
      parts = train_layouts(graphs, options, files, [&] { return steps++ == 3; }, kSilent);
      if (!parts.interrupted) break;
    }
    CHECK_FALSE(parts.interrupted);
    CHECK(bytes_of(parts.trained) == bytes_of(once.trained));
    CHECK(parts.folds[1].validation_tau == once.folds[1].validation_tau);

    options::LayoutTrainOptions other = options;
    other.learning_rate = 0.5;
    CHECK_THROWS_AS(train_layouts(graphs, other, files, kNeverStop, kSilent), Error);
  }
}

TEST_CASE("every model learns a graph whose layouts decide") {
  const std::vector<ConfigGraph> graphs = {chain_graph(12, 150, 1)};
  for (const char* model : {"tgraph", "tgraph-code", "sage", "linear"}) {
    options::LayoutTrainOptions options = small_run(model);
    options.steps = 300;
    options.validate_every = 50;
    options.train_folds = 1;
    options.configs_per_step = 32;
    options.learning_rate = 4e-3;
    options.clip_norm = 1;
    const LayoutTrainReport report = train_layouts(graphs, options, {}, kNeverStop, kSilent);
    INFO(model << " tau " << report.folds[0].validation_tau);
    CHECK(report.folds[0].validation_tau > 0.6);
  }
}

TEST_CASE("tiles of kernels are learned, and not mixed with layouts") {
  std::vector<ConfigGraph> graphs;
  for (uint64_t seed = 1; seed <= 9; ++seed) graphs.push_back(tile_kernel(40, seed));
  for (const char* model : {"tgraph", "tgraph-code"}) {
    options::LayoutTrainOptions options = small_run(model);
    options.model.dropout = 0;
    options.split = {};
    options.split.test = {"kernel2"};
    options.split.folds = 3;
    options.steps = 600;
    options.validate_every = 50;
    options.train_folds = 1;
    options.learning_rate = 4e-3;
    const LayoutTrainReport report = train_layouts(graphs, options, {}, kNeverStop, kSilent);
    INFO(model << " tau " << report.folds[0].validation_tau);
    CHECK(report.folds[0].validation_tau > 0.8);  // on kernels that were not trained on
    CHECK(report.trained.options.tiles);
    CHECK_THROWS_AS(predict_layouts(report.trained, chain_graph(12, 20, 1), std::vector<int32_t>{0, 1}, {}), Error);
  }
  CHECK_THROWS_AS(train_layouts(graphs, small_run("frequent"), {}, kNeverStop, kSilent), Error);
  graphs.push_back(chain_graph(12, 80, 1));
  CHECK_THROWS_AS(train_layouts(graphs, small_run("tgraph"), {}, kNeverStop, kSilent), Error);
}

TEST_CASE("patience ends a fold") {
  const std::vector<ConfigGraph> graphs = {chain_graph(12, 80, 1)};
  options::LayoutTrainOptions options = small_run("tgraph");
  options.learning_rate = 1e-12;  // nothing improves
  options.validate_every = 1;
  options.patience = 2;
  const LayoutTrainReport report = train_layouts(graphs, options, {}, kNeverStop, kSilent);
  CHECK(report.folds[0].stopped_early);
  CHECK(report.folds[0].steps < options.steps);
}

TEST_CASE("layout commands of the library, from files to a table") {
  const TempDir folder;
  const std::string data = (folder.path() / "chain.layouts").string();
  options::write_packed_layouts(data, chain_graph(12, 120, 1));
  nlohmann::json weights = nlohmann::json::array();
  for (const char* model : {"tgraph", "linear", "frequent"})
    for (uint64_t seed : {1, 2}) {
      options::LayoutTrainOptions options = small_run(model);
      options.seed = seed;
      const std::string out = (folder.path() / (model + std::to_string(seed))).string();
      const nlohmann::json response = run_train_layout(
          {{"data", data}, {"out", out}, {"options", to_json(options)}, {"quiet", true}}, cost::LearnHost{});
      CHECK(response.at("graphs") == 1);
      weights.push_back(out);
    }
  const nlohmann::json table =
      run_eval_layout({{"data", data}, {"weights", weights}, {"quiet", true}}, cost::LearnHost{});
  CHECK(table.at("held_out") == "configs");
  REQUIRE(table.at("graphs").size() == 1);
  for (const char* model : {"tgraph", "linear", "frequent"}) {
    const nlohmann::json& cell = table.at("graphs")[0].at("models").at(model);
    CHECK(cell.at("seeds") == 2);
    CHECK(std::abs(cell.at("kendall_tau").get<double>()) <= 1);
    CHECK(cell.at("slowdown_top1").get<double>() >= cell.at("slowdown_top10").get<double>());
  }
  const nlohmann::json ranked = run_rank_layout({{"data", data}, {"weights", weights[0]}}, cost::LearnHost{});
  CHECK(ranked.at("graphs")[0].at("scores").size() == 120);
  CHECK_THROWS_AS(run_eval_layout({{"data", data}, {"weights", nlohmann::json::array()}}, cost::LearnHost{}), Error);
}
