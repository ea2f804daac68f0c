// Policies of passes, of placements and of layouts: their options, then their tensors, then scores of something small.
#include <nlohmann/json.hpp>

#include "cost/layout_ranker.h"
#include "go/go_file.h"
#include "go/go_network.h"
#include "options/config_graph.h"
#include "passorder/learned_policy.h"
#include "passorder/order_follower.h"
#include "passorder/policy_file.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

namespace {

void read_order_policy(const options::TensorFile& file) {
  passorder::PolicyHeader header = passorder::read_policy_header(file, "file");
  expect_errors([&] { passorder::followed_order_from_json(header.order, {"a", "b"}); });
  const auto policy = passorder::open_network_policy(file, std::move(header), "file");
  passorder::Observation observation;
  observation.values.resize(static_cast<size_t>(policy->spec().observation_width));
  if (policy->spec().node_width < 1) policy->scores({&observation, 1});
}

void rank_layouts(const options::TensorFile& file) {
  if (!cost::holds_tgraph(file)) return;
  options::ConfigGraph graph;
  graph.node_opcode = {2, 63};
  graph.node_feat.resize(2 * options::kNodeFeatures, 1);
  graph.edges = {1, 0};
  graph.config_nodes = {1};
  graph.configs = options::PackedConfigs::hold({0, 1, 2});
  cost::rank_tgraph(file, graph, 1);
}

}  // namespace

void policies(Bytes input) {
  expect_errors([&] {
    const options::TensorFile file = options::decode_safetensors(text_of(input), "file");
    expect_errors([&] { read_order_policy(file); });
    expect_errors([&] { rank_layouts(file); });
    const MemoryFile stored(input);
    go::make_go_network(go::read_go_policy(stored.path()), 1);
  });
}

}  // namespace hone::fuzz
