#include "cost/layout_ranker.h"

#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "learn/layout/layout_trained.h"
#include "options/layout_files.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;

namespace {

constexpr double kAgreement = 1e-5;

std::filesystem::path data() { return std::filesystem::path(__FILE__).parent_path() / "../../data"; }

// The largest difference of scores, which are to differ among themselves.
double difference(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  double most = 0;
  for (size_t i = 0; i < found.size(); ++i) most = std::max(most, std::abs(found[i] - expected[i]));
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  CHECK(*high - *low > 100 * kAgreement);
  return most;
}

std::vector<double> by_torch(const TrainedLayouts& trained, const options::ConfigGraph& graph) {
  std::vector<int32_t> all(graph.configurations());
  std::iota(all.begin(), all.end(), 0);
  return predict_layouts(trained, graph, all, {});
}

}  // namespace

TEST_CASE("the shipped ranker of layouts has torch's scores without torch") {
  const std::string weights = (data() / "models/layout/ranker.safetensors").string();
  const TrainedLayouts trained = load_layout_weights(weights);
  for (const char* name : {"heat_3d_b1", "gcn_b1", "auto_rec_b64", "gaussian_mixture_b1024"}) {
    const std::string path = (data() / "layouts" / (std::string(name) + ".npz")).string();
    INFO(name);
    for (const int threads : {1, 3})
      CHECK(difference(cost::rank_layouts(path, weights, threads), by_torch(trained, options::read_layout_npz(path))) <=
            kAgreement);
  }
}

TEST_CASE("rankers of every ablation have torch's scores without torch") {
  const TempDir folder;
  const std::string path = (folder.path() / "ranker.safetensors").string();
  const options::ConfigGraph graph = options::read_layout_npz((data() / "layouts/gcn_b1.npz").string());
  for (int without = 0; without < 5; ++without) {
    TrainedLayouts trained;
    trained.options.name = "tgraph-code";
    trained.options.hidden = 16;
    trained.options.channel_attention = without != 1;
    trained.options.cross_attention = without != 2;
    trained.options.edges = without != 3;
    trained.options.prune = without != 4;
    trained.scale = NodeScale::fit({&graph, 1});
    trained.members = {make_layout_network(trained.options, 1), make_layout_network(trained.options, 2)};
    trained.validation_tau = {0.5, 0.4};
    save_layout_weights(path, trained);
    INFO("ablation " << without);
    const options::TensorFile file = options::read_safetensors(path);
    REQUIRE(cost::holds_tgraph(file));
    CHECK(difference(cost::rank_tgraph(file, graph, 1), by_torch(trained, graph)) <= kAgreement);
  }
}

TEST_CASE("damaged rankers are errors that name the file") {
  const TempDir folder;
  const std::string path = (folder.path() / "ranker.safetensors").string();
  const std::string program = (data() / "layouts/gcn_b1.npz").string();
  options::TensorFile file = options::read_safetensors((data() / "models/layout/ranker.safetensors").string());
  const auto refused = [&] {
    options::write_safetensors(path, file);
    try {
      cost::rank_layouts(program, path, 1);
    } catch (const Error& e) {
      return e.where() == path;
    }
    return false;
  };
  CHECK_FALSE(refused());
  options::TensorFile whole = file;
  file.tensors.erase("member0.second.bias");
  CHECK(refused());
  file = whole;
  file.tensors.erase("scale.mean");
  CHECK(refused());
  file = whole;
  file.metadata["feature_version"] = "0";
  CHECK(refused());
  file.metadata.erase("model");
  CHECK(refused());
}
