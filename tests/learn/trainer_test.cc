#include "learn/train/trainer.h"

#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "features/encoded.h"
#include "learn/train/sampler.h"
#include "tests/learn/callbacks.h"
#include "tests/learn/synthetic.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;

namespace {

options::TrainOptions small_run(const std::string& task, const std::string& model) {
  options::TrainOptions options;
  options.task = task;
  options.model.name = model;
  options.model.hidden = 16;
  options.model.opcode_embedding = 8;
  options.model.gnn_layers = 1;
  options.model.node_final_layers = 1;
  options.model.dropout = 0.1;
  options.steps = 20;
  options.seed = 7;
  options.kernels_per_step = 3;
  options.options_per_kernel = 6;
  options.validate_every = 5;
  options.decay = 0.9;
  options.decay_steps = 10;
  return options;
}

std::string weights_bytes(const Trained& trained) {
  options::TensorFile file;
  put_parameters(*trained.network, "", file);
  return options::encode_safetensors(file);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a run is a function of data, options and seed") {
  const auto kernels = synthetic_kernels(1, 8, 5, 8), held = synthetic_kernels(2, 4, 5, 8);
  options::TrainOptions options = small_run("tile", "sage+column-wise");
  const auto run = [&] { return train(views_of(kernels), views_of(held), options, {}, kNeverStop, kSilent); };
  const TrainReport a = run(), b = run();
  CHECK(weights_bytes(a.best) == weights_bytes(b.best));
  CHECK(a.steps == 20);
  CHECK(a.best_step % 5 == 0);
  CHECK(a.best_objective == a.validation.ape_top1);
  CHECK(a.validation.programs.size() == 3);
  options.seed = 8;
  CHECK(weights_bytes(run().best) != weights_bytes(a.best));
}

TEST_CASE("a run resumed from its checkpoint ends with the bits of an uninterrupted one") {
  const auto kernels = synthetic_kernels(1, 8, 5, 8), held = synthetic_kernels(2, 4, 5, 8);
  for (const char* model : {"sage+lstm", "fast"}) {
    const TempDir folder;
    options::TrainOptions options = small_run("tile", model);
    TrainFiles files;
    files.checkpoint = (folder.path() / "run.safetensors").string();
    const TrainReport whole = train(views_of(kernels), views_of(held), options, {}, kNeverStop, kSilent);
    int64_t asked = 0;
    const TrainReport part =
        train(views_of(kernels), views_of(held), options, files, [&] { return ++asked > 12; }, kSilent);
    CHECK(part.interrupted);
    CHECK(part.steps == 12);
    files.resume = true;
    const TrainReport rest = train(views_of(kernels), views_of(held), options, files, kNeverStop, kSilent);
    INFO(model);
    CHECK(rest.steps == 20);
    CHECK(rest.best_step == whole.best_step);
    CHECK(rest.best_objective == whole.best_objective);
    CHECK(weights_bytes(rest.best) == weights_bytes(whole.best));
    options.learning_rate = 0.5;
    CHECK(message_of([&] {
            train(views_of(kernels), views_of(held), options, files, kNeverStop, kSilent);
          }).find("other options") != std::string::npos);
    write_file(files.checkpoint, read_file(files.checkpoint).substr(0, 1000));
    options.learning_rate = 1e-3;
    CHECK_THROWS_AS(train(views_of(kernels), views_of(held), options, files, kNeverStop, kSilent), Error);
  }
}

TEST_CASE("training ranks options and predicts run times better than it starts") {
  const auto kernels = synthetic_kernels(1, 12, 6, 16), held = synthetic_kernels(2, 6, 6, 16);
  options::TrainOptions tile = small_run("tile", "fast");
  tile.steps = 200;
  tile.decay = 1;
  tile.learning_rate = 5e-3;
  tile.validate_every = 50;
  const TrainReport ranked = train(views_of(kernels), views_of(held), tile, {}, kNeverStop, kSilent);
  CHECK(ranked.validation.tau > 0.5);
  options::TrainOptions fusion = small_run("fusion", "none+column-wise");
  fusion.steps = 200;
  fusion.decay = 1;
  fusion.learning_rate = 5e-3;
  fusion.validate_every = 50;
  const TrainReport timed = train(views_of(kernels), views_of(kernels), fusion, {}, kNeverStop, kSilent);
  options::TrainOptions untrained = fusion;
  untrained.steps = 1;
  const TrainReport start = train(views_of(kernels), views_of(kernels), untrained, {}, kNeverStop, kSilent);
  CHECK(timed.validation.mape < 0.7 * start.validation.mape);
  CHECK(timed.samples_per_s > 0);
}

TEST_CASE("training ends early when validation no longer improves, and keeps the best") {
  const auto kernels = synthetic_kernels(1, 6, 5, 6), held = synthetic_kernels(2, 4, 5, 6);
  options::TrainOptions options = small_run("tile", "none+per-node");
  options.steps = 100000;
  options.validate_every = 2;
  options.patience = 3;
  options.learning_rate = 1e-9;  // nothing changes, so nothing improves
  const TrainReport report = train(views_of(kernels), views_of(held), options, {}, kNeverStop, kSilent);
  CHECK(report.stopped_early);
  CHECK(report.steps < 1000);
  CHECK(report.best_step <= report.steps - 6);
}

TEST_CASE("weights come back through a file; those of another version or model are refused") {
  const auto kernels = synthetic_kernels(1, 6, 5, 6);
  const auto views = views_of(kernels);
  const TempDir folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  for (const char* model : {"sage+transformer", "fast"}) {
    options::TrainOptions options = small_run("fusion", model);
    options.steps = 5;
    TrainFiles files;
    files.command = "hone train fusion data";
    files.log_dir = (folder.path() / "log").string();
    TrainReport report = train(views, views, options, files, kNeverStop, kSilent);
    CHECK(std::filesystem::exists(report.event_file));
    save_weights(path, report.best);
    Trained loaded = load_weights(path);
    CHECK(loaded.command == files.command);
    CHECK(loaded.seed == 7);
    CHECK(loaded.scale == report.best.scale);
    CHECK(predict_options(loaded, views[0]) == predict_options(report.best, views[0]));
    CHECK(predict_options(loaded, views[0]).size() == 6);
    CHECK(open_learned_model(path)->predict(views[1]) == predict_options(report.best, views[1]));
  }
  const auto refused = [&](const std::string& key, const std::string& value) {
    options::TensorFile file = options::read_safetensors(path);
    file.metadata[key] = value;
    options::write_safetensors(path + ".bad", file);
    return message_of([&] { load_weights(path + ".bad"); });
  };
  CHECK(refused("feature_version", "999").find("feature version 999") != std::string::npos);
  CHECK(refused("model", R"({"name":"sage+gru"})").find("there is no model 'sage+gru'") != std::string::npos);
  CHECK(refused("model", R"({"name":"gat+lstm","hidden":16})").find("do not fit") != std::string::npos);
  CHECK(refused("scaler", "{}") != "");
  CHECK(refused("target", "{}") != "");
  CHECK(refused("seed", "x") != "");
  CHECK(refused("format", "other").find("not weights") != std::string::npos);
  CHECK(message_of([&] { load_weights((folder.path() / "none").string()); }) != "");
}

TEST_CASE("the sampler draws evenly from groups, without repeats, the same for equal seeds") {
  auto kernels = synthetic_kernels(1, 20, 3, 10, 1);
  for (size_t i = 0; i < kernels.size(); ++i) kernels[i].program = i == 0 ? "rare" : "common";
  const Sampler sampler(views_of(kernels), {"program", 4, 5, 2});
  CHECK(sampler.groups() == 2);
  int64_t rare = 0, all = 0;
  for (int64_t step = 0; step < 500; ++step)
    for (const BatchItem& item : sampler.sample(1, step)) {
      rare += item.kernel.program == "rare";
      ++all;
      REQUIRE(item.options.size() == 5);
      REQUIRE(std::is_sorted(item.options.begin(), item.options.end()));
      REQUIRE(std::adjacent_find(item.options.begin(), item.options.end()) == item.options.end());
    }
  CHECK(static_cast<double>(rare) / static_cast<double>(all) == Approx(0.5).margin(0.05));
  CHECK(sampler.sample(1, 3)[0].options == sampler.sample(1, 3)[0].options);
  CHECK(sampler.sample(1, 3, 0)[0].options != sampler.sample(1, 3, 1)[0].options);
  CHECK_THROWS_AS(Sampler(views_of(kernels), {"program", 4, 5, 11}), Error);
}

TEST_CASE("gradients are averaged over processes by Gloo") {
  const TempDir folder;
  options::TrainOptions options = small_run("tile", "fast");
  options.processes = 2;
  options.rendezvous = (folder.path() / "store").string();
  std::vector<torch::Tensor> results[2];
  const auto work = [&](int64_t rank) {
    options::TrainOptions mine = options;
    mine.rank = rank;
    const auto exchange = make_gloo_exchange(mine);
    std::vector<torch::Tensor> tensors = {torch::full({2, 2}, 1.0f + 2 * static_cast<float>(rank)),
                                          torch::full({3}, static_cast<float>(rank))};
    exchange->average(tensors);
    results[rank] = tensors;
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (const auto& tensors : results) {
    CHECK(torch::equal(tensors[0], torch::full({2, 2}, 2.0f)));
    CHECK(torch::equal(tensors[1], torch::full({3}, 0.5f)));
  }
}
