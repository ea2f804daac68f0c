#include "cost/tree_model.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "cost/ensemble.h"
#include "cost/kernel_features.h"
#include "cost/learn_library.h"
#include "tests/cost/test_kernel.h"
#include "tests/cost/tree_file.h"

using namespace hone;
using namespace hone::cost;

namespace {

size_t column(const std::string& name) {
  const auto& names = kernel_feature_names();
  const auto found = std::find(names.begin(), names.end(), name);
  REQUIRE(found != names.end());
  return found - names.begin();
}

const features::Cpu kCpu{.vector_bits = 256, .l1_bytes = 32768, .l2_bytes = 1 << 20, .l3_bytes = 1 << 25, .threads = 1};

float feature(const TestKernel& kernel, const std::string& name, size_t option = 0) {
  const KernelView view = kernel.view();
  const size_t width = features::tile_feature_count();
  std::vector<float> row;
  KernelFeatures(view, kCpu).append(view.tiles.subspan(option * width, width), row);
  return row[column(name)];
}

// One tree: -0.5 for what XLA's tiled emitter makes, 0.25 for all else.
options::TensorFile tree_file(const std::string& predicts, const std::string& task) {
  return split_file(kernel_feature_names(), "option_tiled_emitter", 0.5F, {0.25F, -0.5F},
                    {{"task", task}, {"predicts", predicts}, {"base", "1"}});
}

TestKernel row_sums(int64_t rows, int64_t columns) {
  return kernel_of({node("parameter", f32({rows, columns})), node("exponential", f32({rows, columns}), {0}),
                    node("constant", f32({})), node("reduce", f32({rows}), {1, 2}, {1})},
                   {"loop"});
}

}  // namespace

TEST_CASE("features of a kernel count what the outputs need", "[trees]") {
  // Half of what is computed is read.
  const TestKernel half = kernel_of({node("parameter", f32({8, 64})), node("exponential", f32({8, 64}), {0}),
                                     node("slice", f32({4, 64}), {1}), node("negate", f32({4, 64}), {2})},
                                    {"loop"});
  CHECK(feature(half, "exponentials_runs") == Approx(std::log1p(4 * 64)));
  CHECK(feature(half, "arithmetic_runs") == Approx(std::log1p(4 * 64)));
  CHECK(feature(half, "exponentials_count") == Approx(std::log1p(1)));
  // A value that two others read is computed twice, or once where these uses are equal.
  const TestKernel twice =
      kernel_of({node("parameter", f32({16})), node("exponential", f32({16}), {0}), node("negate", f32({16}), {1}),
                 node("abs", f32({16}), {1}), node("add", f32({16}), {2, 3})},
                {"loop"});
  CHECK(feature(twice, "exponentials_runs") == Approx(std::log1p(32)));
  CHECK(feature(twice, "exponentials_runs_once") == Approx(std::log1p(16)));
  // A sum evaluates all that it adds.
  CHECK(feature(row_sums(8, 32), "exponentials_runs") == Approx(std::log1p(8 * 32)));
  CHECK(feature(row_sums(8, 32), "output_elements") == Approx(std::log1p(8)));
}

TEST_CASE("features of a kernel tell how its loops walk", "[trees]") {
  const TestKernel copy = kernel_of({node("parameter", f32({64, 32})), node("negate", f32({64, 32}), {0})}, {"loop"});
  const TestKernel turned =
      kernel_of({node("parameter", f32({32, 64})), node("transpose", f32({64, 32}), {0}, {1, 0})}, {"loop"});
  CHECK(feature(copy, "strided_accesses") == 0);
  CHECK(feature(turned, "strided_accesses") == 1);
  CHECK(feature(turned, "largest_stride") == Approx(std::log1p(64 * 4)));
  CHECK(feature(turned, "moved_runs") == Approx(std::log1p(64 * 32)));
  CHECK(feature(copy, "moved_runs") == 0);
  CHECK(feature(copy, "output_0") == Approx(std::log1p(32)));
}

TEST_CASE("features of a convolution tell its channels, sides and padding", "[trees]") {
  Node convolution = node("convolution", f32({2, 14, 14, 32}), {0, 1});
  convolution.window = {{.size = 3, .padding_low = 1, .padding_high = 1}, {.size = 1}};
  convolution.convolution = {.input_batch = 0,
                             .input_feature = 3,
                             .kernel_input_feature = 2,
                             .kernel_output_feature = 3,
                             .output_batch = 0,
                             .output_feature = 3,
                             .input_spatial = {1, 2},
                             .kernel_spatial = {0, 1},
                             .output_spatial = {1, 2}};
  const double flops = 2.0 * 2 * 14 * 14 * 32 * 3 * 8;  // 8 channels in
  const TestKernel kernel =
      kernel_of({node("parameter", f32({2, 14, 14, 8})), node("parameter", f32({3, 1, 8, 32})), convolution}, {"loop"},
                {.flops = flops});
  CHECK(feature(kernel, "in_features") == Approx(std::log1p(8)));
  CHECK(feature(kernel, "out_features") == Approx(std::log1p(32)));
  CHECK(feature(kernel, "batch") == Approx(std::log1p(2)));
  CHECK(feature(kernel, "spatial") == 2);
  CHECK(feature(kernel, "spatial_elements") == Approx(std::log1p(14 * 14)));
  CHECK(feature(kernel, "window_sides") == 1);
  CHECK(feature(kernel, "largest_side") == Approx(std::log1p(3)));
  CHECK(feature(kernel, "features_fastest") == 1);
  CHECK(feature(kernel, "parameters") == 2);
  CHECK(feature(kernel, "least_parameter") == Approx(std::log1p(3 * 8 * 32 * 4)));
}

TEST_CASE("features of dots and gathers tell their extents", "[trees]") {
  const TestKernel dot = kernel_of(
      {node("parameter", f32({4, 8, 16})), node("parameter", f32({4, 16, 32})), node("dot", f32({4, 8, 32}), {0, 1})},
      {"loop"});
  CHECK(feature(dot, "dot_rows") == Approx(std::log1p(8)));
  CHECK(feature(dot, "dot_columns") == Approx(std::log1p(32)));
  CHECK(feature(dot, "dot_batch") == Approx(std::log1p(4)));
  const auto gathered = [](const std::string& indices_by) {
    Node gather = node("gather", f32({6, 2, 5}), {0, 2});
    gather.gather.slice_sizes = {2, 5};
    return kernel_of(
        {node("parameter", f32({100, 5})), node("parameter", f32({6})), node(indices_by, f32({6}), {1}), gather},
        {"loop"});
  };
  CHECK(feature(gathered("bitcast"), "slice_elements") == Approx(std::log1p(10)));
  CHECK(feature(gathered("bitcast"), "slice_minor") == Approx(std::log1p(5)));
  CHECK(feature(gathered("bitcast"), "gathered_bytes") == Approx(std::log1p(100 * 5 * 4)));
  CHECK(feature(gathered("bitcast"), "indices") == Approx(std::log1p(6)));
  CHECK(feature(gathered("bitcast"), "indices_computed") == 0);
  CHECK(feature(gathered("negate"), "indices_computed") == 1);
  CHECK(feature(gathered("negate"), "gathers_chain") == 1);
  // Indices that come before the table are told by their type.
  Node backwards = node("gather", f32({6, 2, 5}), {0, 1});
  backwards.gather.slice_sizes = {2, 5};
  Shape integers = f32({6});
  integers.element_type = 4;  // s32
  const TestKernel turned =
      kernel_of({node("parameter", integers), node("parameter", f32({100, 5})), backwards}, {"loop"});
  CHECK(feature(turned, "gathered_bytes") == Approx(std::log1p(100 * 5 * 4)));
  CHECK(feature(turned, "indices") == Approx(std::log1p(6)));
}

TEST_CASE("features of chains and types count what runs", "[trees]") {
  const TestKernel chain =
      kernel_of({node("parameter", f32({16})), node("parameter", f32({})), node("broadcast", f32({16}), {1}),
                 node("power", f32({16}), {0, 2}), node("tanh", f32({16}), {3}), node("sine", f32({16}), {0}),
                 node("add", f32({16}), {4, 5})},
                {"loop"});
  CHECK(feature(chain, "chain") == 3);  // power, tanh, add
  CHECK(feature(chain, "power_runs") == Approx(std::log1p(16)));
  CHECK(feature(chain, "erf_runs") == Approx(std::log1p(16)));
  CHECK(feature(chain, "sine_runs") == Approx(std::log1p(16)));
  CHECK(feature(chain, "broadcast_runs") == Approx(std::log1p(16)));
  CHECK(feature(chain, "scalar_parameters") == 1);
  CHECK(feature(chain, "integer_runs") == 0);
  const TestKernel turned_twice =
      kernel_of({node("parameter", f32({4, 8, 16})), node("transpose", f32({16, 4, 8}), {0}, {2, 0, 1}),
                 node("negate", f32({16, 4, 8}), {1}), node("transpose", f32({8, 16, 4}), {2}, {2, 0, 1})},
                {"loop"});
  CHECK(feature(turned_twice, "moves_chain") == 2);
}

TEST_CASE("trees of one machine share a kernel's features, and predict the same as by themselves", "[trees]") {
  const TestKernel kernel =
      kernel_of({node("parameter", f32({64, 64})), node("negate", f32({64, 64}), {0})}, {"loop", "tile=8,8"});
  features::Cpu smaller = kCpu;  // of caches
  smaller.l1_bytes = 1 << 10, smaller.l2_bytes = 1 << 11, smaller.l3_bytes = 1 << 12;
  const auto member = [](const features::Cpu& cpu) {
    return open_tree_model(tree_file("run time", "fusion"), "file", cpu);
  };
  for (const features::Cpu& second : {kCpu, smaller}) {
    std::vector<std::unique_ptr<LearnedModel>> members;
    members.push_back(analytical_member("", "fusion", kCpu));
    members.push_back(member(kCpu));
    members.push_back(member(second));
    const auto scores = make_ensemble(std::move(members))->member_scores(kernel.view());
    REQUIRE(scores.size() == 3);
    for (size_t o = 0; o < 2; ++o) {
      CHECK(scores[1][o] == std::log(member(kCpu)->predict(kernel.view())[o]));
      CHECK(scores[2][o] == std::log(member(second)->predict(kernel.view())[o]));
      CHECK((scores[2][o] == scores[1][o]) == (second == kCpu));
    }
  }
}

TEST_CASE("trees of run times correct the analytical model", "[trees]") {
  const TestKernel kernel =
      kernel_of({node("parameter", f32({64, 64})), node("negate", f32({64, 64}), {0})}, {"loop", "tile=8,8"});
  const KernelView view = kernel.view();
  const std::vector<double> analytical = kernel_rows({&view, 1}, kCpu).base_ns;
  const auto model = open_tree_model(tree_file("run time", "fusion"), "file", kCpu);
  CHECK(model->task() == "fusion");
  CHECK(model->predicts_runtime());
  const std::vector<double> ns = model->predict(view);
  REQUIRE(ns.size() == 2);
  CHECK(ns[0] == Approx(analytical[0] * std::exp(1.25)));
  CHECK(ns[1] == Approx(analytical[1] * std::exp(0.5)));
  const auto ratios = open_tree_model(tree_file("ratio", "tile"), "file", kCpu);
  CHECK(ratios->predicts_ratios());
  CHECK_FALSE(ratios->predicts_runtime());
  CHECK(ratios->predict(view) == std::vector<double>{1.25, 0.5});
}

TEST_CASE("trees over a sum of work are told how it is made up, and predict what it leaves", "[trees]") {
  const std::vector<std::string>& terms = kernel_work_term_names();
  std::vector<float> weights(terms.size(), 0);
  weights[std::find(terms.begin(), terms.end(), "arithmetic_runs_once") - terms.begin()] = 0.5F;
  weights.back() = 100;
  const auto file_with = [&](const std::vector<float>& ns) {
    std::vector<std::string> names = kernel_feature_names();
    for (const std::string& name : work_feature_names(terms)) names.push_back(name);
    options::TensorFile file = split_file(names, "share_of_constant", 0.5F, {0.25F, -0.5F},
                                          {{"task", "fusion"}, {"predicts", "run time over work"}, {"base", "1"}});
    file.tensors["work"] = tensor<float>("F32", ns);
    return file;
  };
  const auto negate = [](int64_t n) {
    return kernel_of({node("parameter", f32({n})), node("negate", f32({n}), {0})}, {"loop", "tile=8"});
  };
  const TestKernel small = negate(16), large = negate(4096);  // shares of the constant: 100 of 108 and of 2148 ns
  const auto model = open_tree_model(file_with(weights), "file", kCpu);
  CHECK(model->predicts_runtime());
  CHECK(model->predict(small.view())[0] == Approx(108 * std::exp(0.5)));
  CHECK(model->predict(large.view())[1] == Approx(2148 * std::exp(1.25)));
  const std::vector<KernelView> both = {small.view(), large.view()};
  const auto together = model->predict_all(both);
  CHECK(together[0] == model->predict(small.view()));
  CHECK(together[1] == model->predict(large.view()));

  // Members with other weights of work, and such without, do not share their rows.
  std::vector<float> twice = weights;
  for (float& ns : twice) ns *= 2;
  std::vector<std::unique_ptr<LearnedModel>> members;
  members.push_back(open_tree_model(file_with(weights), "file", kCpu));
  members.push_back(open_tree_model(file_with(twice), "file", kCpu));
  members.push_back(open_tree_model(tree_file("run time", "fusion"), "file", kCpu));
  const auto plain = open_tree_model(tree_file("run time", "fusion"), "file", kCpu);
  const double ns = make_ensemble(std::move(members))->predict(small.view())[0];
  CHECK(std::pow(ns, 3) == Approx(std::pow(108 * std::exp(0.5), 2) * 2 * plain->predict(small.view())[0]));

  // A network beside the trees counts twice as much as they do.
  options::TensorFile beside = file_with(weights);
  const auto width = static_cast<int64_t>(kernel_feature_names().size() + work_feature_names(terms).size());
  const auto add_tensor = [&](const char* name, std::vector<int64_t> shape, float value) {
    const auto count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    beside.tensors[name] = tensor<float>("F32", std::vector<float>(count, value));
    beside.tensors[name].shape = std::move(shape);
  };
  for (const char* name : {"network.least", "network.most", "network.mean"}) add_tensor(name, {width}, 0);
  add_tensor("network.deviation", {width}, 1);
  add_tensor("network.0.weight", {1, width}, 0);
  add_tensor("network.0.bias", {1}, -1.5F);
  CHECK(open_tree_model(beside, "file", kCpu)->predict(small.view())[0] == Approx(108 * std::exp(0.5 / 3 - 1)));
  const auto alone = open_tree_model(beside, "file", kCpu);
  alone->leave_out_networks();
  CHECK(alone->predict(small.view()) == model->predict(small.view()));
  std::vector<std::unique_ptr<LearnedModel>> one;
  one.push_back(open_tree_model(beside, "file", kCpu));
  const auto ensemble = make_ensemble(std::move(one));
  CHECK(ensemble->predict(small.view())[0] == Approx(108 * std::exp(0.5 / 3 - 1)));
  ensemble->leave_out_networks();
  CHECK(ensemble->predict(small.view())[0] == Approx(108 * std::exp(0.5)));
  add_tensor("network.0.bias", {2}, -1.5F);
  CHECK_THROWS_AS(open_tree_model(beside, "file", kCpu), Error);

  CHECK_THROWS_AS(open_tree_model(file_with({1, 2}), "file", kCpu), Error);
  options::TensorFile without = file_with(weights);
  without.tensors.erase("work");
  CHECK_THROWS_AS(open_tree_model(without, "file", kCpu), Error);
}

TEST_CASE("trees predict for the machine that they are opened for", "[trees]") {
  options::TensorFile file = tree_file("ratio", "tile");
  file.tensors["feature"] = tensor<int16_t>("I16", {static_cast<int16_t>(column("vector_bits")), -1, -1});
  file.tensors["value"] = tensor<float>("F32", {static_cast<float>(std::log1p(400)), 0.25F, -0.5F});
  const TestKernel kernel = kernel_of({node("parameter", f32({64})), node("negate", f32({64}), {0})}, {"loop"});
  features::Cpu wide = kCpu;
  wide.vector_bits = 512;
  CHECK(open_tree_model(file, "file", kCpu)->predict(kernel.view()) == std::vector<double>{1.25});
  CHECK(open_tree_model(file, "file", wide)->predict(kernel.view()) == std::vector<double>{0.5});
}

TEST_CASE("a file of trees is a model like weights of a network", "[trees]") {
  const TempDir folder;
  for (const char* name : {"a.safetensors", "b.safetensors"})
    options::write_safetensors((folder.path() / name).string(), tree_file("ratio", "tile"));
  const auto one = load_learned_model((folder.path() / "a.safetensors").string());
  CHECK(one->name() == "trees");
  const auto both = load_learned_model(folder.path().string());
  CHECK(both->predicts_ratios());
  const TestKernel kernel =
      kernel_of({node("parameter", f32({64, 64})), node("negate", f32({64, 64}), {0})}, {"loop", "tile=8,8"});
  const std::vector<double> scores = both->predict(kernel.view());
  CHECK(scores[0] - scores[1] == Approx(0.75));
}

TEST_CASE("trees of other features, or none, are refused with their file", "[trees]") {
  const auto refused = [](options::TensorFile file) {
    try {
      open_tree_model(file, "some file", kCpu);
      return std::string("accepted");
    } catch (const Error& e) {
      CHECK(e.where() == "some file");
      return std::string(e.what());
    }
  };
  options::TensorFile other = tree_file("ratio", "tile");
  other.metadata["features"] = R"(["a", "b"])";
  CHECK(refused(other) == "the trees were trained with other features");
  other = tree_file("ratio", "tile");
  other.metadata.erase("base");
  CHECK(refused(other) == "no base in the trees' metadata");
  other = tree_file("a guess", "tile");
  CHECK(refused(other) == "trees that predict a guess of tile are not known");
  other = tree_file("ratio", "tile");
  other.tensors.erase("left");
  CHECK(refused(other) == "no trees: left");
  other = tree_file("ratio", "tile");
  other.tensors["left"] = tensor<int32_t>("I32", {0, 0, 0});  // its own child
  CHECK(refused(other) == "a node of a tree has no such feature or child");
  other = tree_file("ratio", "tile");
  other.metadata["base"] = "nothing";
  CHECK(refused(other).starts_with("the trees' metadata are damaged"));
}
