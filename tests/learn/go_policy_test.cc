#include "learn/go/go_policy.h"

#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "learn/nets/trained.h"
#include "tests/learn/go_inputs.h"
#include "tests/learn/go_toys.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::go;
using namespace hone::learn;
using go_toys::random_graph;
using go_toys::random_state;
using go_toys::shake;

namespace {

options::GoOptions small_options() {
  options::GoOptions options;
  options.devices = 3;
  options.hidden = 8;
  options.heads = 2;
  options.segment = 16;
  return options;
}

// Node i of the result is node order[i] of the graph.
NeighbourLists permuted(const NeighbourLists& lists, const std::vector<int64_t>& order) {
  std::vector<int32_t> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<int32_t>(i);
  NeighbourLists out;
  for (const int64_t v : order) {
    for (int32_t e = lists.begin[v]; e < lists.begin[v + 1]; ++e) out.node.push_back(place[lists.node[e]]);
    out.begin.push_back(static_cast<int32_t>(out.node.size()));
  }
  return out;
}

bool close(const torch::Tensor& a, const torch::Tensor& b) { return torch::allclose(a, b, 1e-4, 1e-5); }

}  // namespace

TEST_CASE("max_of_neighbours takes the largest of each column, and sends the gradient there", "[go]") {
  const NeighbourLists lists{{0, 2, 2, 3}, {1, 2, 0}};
  const torch::Tensor x = torch::tensor({{1.0f, 5.0f}, {2.0f, 3.0f}, {7.0f, 1.0f}}).requires_grad_();
  const torch::Tensor y = max_of_neighbours(x, lists);
  CHECK(torch::equal(y, torch::tensor({{7.0f, 3.0f}, {0.0f, 0.0f}, {1.0f, 5.0f}})));
  (y * torch::tensor({{1.0f, 10.0f}, {100.0f, 100.0f}, {1000.0f, 10000.0f}})).sum().backward();
  CHECK(torch::equal(x.grad(), torch::tensor({{1000.0f, 10000.0f}, {0.0f, 10.0f}, {1.0f, 0.0f}})));
}

TEST_CASE("attention over one segment is full attention", "[go]") {
  options::GoOptions options = small_options();
  torch::manual_seed(1);
  GoAttention one(options);
  options.segment = 1000;
  torch::manual_seed(1);
  GoAttention all(options);
  const torch::Tensor x = torch::randn({16, options.hidden});
  CHECK(close(one.forward(x), all.forward(x)));
  const torch::Tensor longer = torch::randn({40, options.hidden});
  CHECK_FALSE(close(one.forward(longer), all.forward(longer)));
}

TEST_CASE("a segment sees the one before it and no other", "[go]") {
  options::GoOptions options = small_options();
  for (const bool recurrence : {true, false}) {
    options.recurrence = recurrence;
    torch::manual_seed(2);
    GoAttention attention(options);
    const torch::NoGradGuard no_gradient;
    const torch::Tensor x = torch::randn({56, options.hidden}), y = attention.forward(x);  // segments 16, 16, 16, 8
    torch::Tensor changed = x.clone();
    changed[3].mul_(-2);
    const torch::Tensor z = attention.forward(changed);
    CHECK_FALSE(close(y.narrow(0, 0, 16), z.narrow(0, 0, 16)));
    CHECK(close(y.narrow(0, 16, 16), z.narrow(0, 16, 16)) == !recurrence);
    CHECK(close(y.narrow(0, 32, 24), z.narrow(0, 32, 24)));
    changed = x.clone();
    changed[40].mul_(-2);
    CHECK(close(y.narrow(0, 48, 8), attention.forward(changed).narrow(0, 48, 8)) == !recurrence);
  }
}

TEST_CASE("the previous segment passes no gradient to its nodes but to the weights", "[go]") {
  const options::GoOptions options = small_options();
  torch::manual_seed(3);
  GoAttention attention(options);
  torch::Tensor x = torch::randn({32, options.hidden}).requires_grad_();
  attention.forward(x).narrow(0, 16, 16).square().sum().backward();
  CHECK(x.grad().narrow(0, 0, 16).abs().max().item<float>() == 0.0f);
  CHECK(x.grad().narrow(0, 16, 16).abs().max().item<float>() > 0.0f);
  // Weights learn from the memory: the gradient differs from that of two separate segments.
  const torch::Tensor with = attention.named_parameters()["key_value.weight"].grad().clone();
  options::GoOptions alone = options;
  alone.recurrence = false;
  torch::manual_seed(3);
  GoAttention separate(alone);
  separate.forward(x).narrow(0, 16, 16).square().sum().backward();
  CHECK_FALSE(close(with, separate.named_parameters()["key_value.weight"].grad()));
}

TEST_CASE("outputs are the same with and without gradients", "[go]") {
  const options::GoOptions options = small_options();
  GoPolicy policy(options, 4);
  const GoGraph graph = random_graph(100, 4);
  const GoState state = random_state(graph, options);
  const GoOutput learning = policy.forward(graph, state);
  const torch::NoGradGuard no_gradient;
  const GoOutput using_it = policy.forward(graph, state);
  for (int task = 0; task < options::kGoTasks; ++task) CHECK(close(learning.log_probs[task], using_it.log_probs[task]));
}

TEST_CASE("permuting nodes within segments permutes the decisions", "[go]") {
  const options::GoOptions options = small_options();
  GoPolicy policy(options, 5);
  shake(policy, 5);
  const torch::NoGradGuard no_gradient;
  const GoGraph graph = random_graph(40, 5);
  const GoState state = random_state(graph, options);
  std::vector<int64_t> order;
  for (int64_t begin = 0; begin < 40; begin += 16)
    for (int64_t v = std::min<int64_t>(begin + 16, 40) - 1; v >= begin; --v) order.push_back(v);
  const torch::Tensor index = torch::tensor(order);
  // Rows of `width` numbers in the other order.
  const auto chosen = [&](const auto& rows, int64_t width) {
    std::decay_t<decltype(rows)> out;
    for (const int64_t v : order) out.insert(out.end(), rows.begin() + v * width, rows.begin() + (v + 1) * width);
    return out;
  };
  GoGraph other = graph;
  other.producers = permuted(graph.producers, order);
  other.users = permuted(graph.users, order);
  other.opcodes = chosen(graph.opcodes, 1);
  other.numbers = chosen(graph.numbers, kGoNodeNumbers);
  GoState moved = state;
  for (auto& actions : moved.actions) actions = chosen(actions, 1);
  moved.numbers = chosen(state.numbers, kGoStateNumbers);
  moved.device_numbers = chosen(state.device_numbers, graph.devices * kGoDeviceNumbers);
  moved.embedding = chosen(state.embedding, options.hidden);
  const GoOutput a = policy.forward(graph, state), b = policy.forward(other, moved);
  for (int task = 0; task < options::kGoTasks; ++task)
    CHECK(close(a.log_probs[task].index_select(0, index), b.log_probs[task]));
}

TEST_CASE("modulation begins as no change, then follows the pooled graph", "[go]") {
  options::GoOptions options = small_options();
  torch::manual_seed(6);
  GoLayer modulated(options);
  options.modulation = false;
  torch::manual_seed(6);
  GoLayer plain(options);
  const torch::NoGradGuard no_gradient;
  const torch::Tensor x = torch::randn({20, options.hidden});
  const torch::Tensor one = torch::randn({1, options.hidden}), two = torch::randn({1, options.hidden});
  CHECK(close(modulated.forward(x, one), plain.forward(x, one)));
  modulated.modulate->weight.normal_();
  const torch::Tensor scale = 2 * torch::sigmoid(torch::matmul(one, modulated.modulate->weight.t()));
  CHECK(close(modulated.forward(x, one), plain.forward(x * scale, one)));
  CHECK_FALSE(close(modulated.forward(x, one), modulated.forward(x, two)));
}

TEST_CASE("tasks are coupled by residual connections, steps by state and decisions", "[go]") {
  options::GoOptions options = small_options();
  const GoGraph graph = random_graph(30, 7);
  const GoState state = random_state(graph, options);
  for (const bool coupled : {true, false}) {
    options.task_residual = coupled;
    GoPolicy policy(options, 7);
    shake(policy, 7);
    const GoOutput output = policy.forward(graph, state);
    output.log_probs[static_cast<int>(options::GoTask::Schedule)].square().sum().backward();
    const torch::Tensor gradient = policy.named_parameters()["placement0.attention.query.weight"].grad();
    CHECK((gradient.defined() && gradient.abs().max().item<float>() > 0) == coupled);
  }
  for (const bool refinement : {true, false}) {
    options.refinement = refinement;
    GoPolicy policy(options, 8);
    shake(policy, 8);
    const torch::NoGradGuard no_gradient;
    GoState other = state;
    for (int32_t& device : other.actions[0]) device = (device + 1) % 3;
    GoState forgetful = state;
    forgetful.embedding.clear();
    const torch::Tensor y = policy.forward(graph, state).log_probs[1];
    CHECK(close(y, policy.forward(graph, other).log_probs[1]) == !refinement);
    CHECK(close(y, policy.forward(graph, forgetful).log_probs[1]) == !refinement);
  }
}

TEST_CASE("any subset of tasks, and only devices there are", "[go]") {
  options::GoOptions options = small_options();
  options.tasks = {"fusion", "placement"};
  options.devices = 5;
  GoPolicy policy(options, 9);
  const GoGraph graph = random_graph(12, 9);
  const GoOutput output = policy.forward(graph, random_state(graph, options));
  CHECK(output.log_probs[0].sizes().vec() == std::vector<int64_t>{12, 3});
  CHECK_FALSE(output.log_probs[1].defined());
  CHECK(output.log_probs[2].sizes().vec() == std::vector<int64_t>{12, options.fusion_levels});
  CHECK(close(output.log_probs[0].exp().sum(1), torch::ones({12})));
  options.devices = 2;
  GoPolicy narrow(options, 9);
  CHECK_THROWS_AS(narrow.forward(graph, random_state(graph, options)), Error);
}

TEST_CASE("policies come back from their files; others are refused", "[go]") {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  const options::GoOptions options = small_options();
  GoPolicy policy(options, 10);
  save_go_policy(path, policy, {"hone go train", 10, 25, "{\"a\":1}"});
  GoOrigin origin;
  const auto loaded = load_go_policy(path, &origin);
  CHECK(origin.seed == 10);
  CHECK(origin.iterations == 25);
  CHECK(origin.known == "{\"a\":1}");
  const GoGraph graph = random_graph(20, 10);
  const GoState state = random_state(graph, options);
  CHECK(torch::equal(policy.forward(graph, state).log_probs[0], loaded->forward(graph, state).log_probs[0]));
  write_file(path, "not a policy");
  CHECK_THROWS_AS(load_go_policy(path), Error);
  options::write_safetensors(path, {{{"format", "another"}}, {}});
  CHECK_THROWS_AS(load_go_policy(path), Error);
}

TEST_CASE("options of policies: names, ranges, JSON", "[go]") {
  CHECK(to_json(options::go_options_from_json(to_json(options::GoOptions()))) == to_json(options::GoOptions()));
  CHECK_THROWS_AS(options::go_options_from_json({{"hiden", 8}}), Error);
  CHECK_THROWS_AS(options::go_options_from_json({{"tasks", {"placement", "placement"}}}), Error);
  CHECK_THROWS_AS(options::go_options_from_json({{"tasks", {"magic"}}}), Error);
  CHECK_THROWS_AS(options::go_options_from_json({{"schedule_levels", 4}}), Error);
  CHECK_THROWS_AS(options::go_options_from_json({{"hidden", 10}, {"heads", 4}}), Error);
}

TEST_CASE("a task graph as the policy reads it", "[go]") {
  sim::TaskGraph graph = go_toys::fork_join(2, 2);
  const sim::Simulator simulator(graph, go_toys::machine(2));
  const GoGraph read = make_go_graph(simulator);
  CHECK(read.nodes == 6);
  CHECK(read.devices == 2);
  CHECK(read.urgency[0] == 5);  // the source begins the longest path, the join ends it
  CHECK(read.urgency[5] == 0);
  CHECK(read.heaviest[0] == -1);
  CHECK(read.heaviest[5] > 0);
  for (const float number : read.numbers) CHECK(std::isfinite(number));
  CHECK((read.cost == std::vector<float>(12, 1)));
  CHECK((read.decides[0] == std::vector<float>(6, 1)));
  CHECK((read.decides[2] == std::vector<float>(6, 0)));  // matrix products are never fused away
}
