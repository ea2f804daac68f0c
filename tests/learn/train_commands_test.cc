#include "learn/train/train_commands.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "learn/nets/trained.h"
#include "options/train_options.h"
#include "tests/learn/synthetic.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;

namespace {

struct Files {
  TempDir folder;
  std::string dataset = (folder.path() / "data").string(), split = (folder.path() / "split.txt").string(),
              out = (folder.path() / "w.safetensors").string();
  Files() {
    DatasetWriter writer(dataset);
    for (const auto& kernel : synthetic_kernels(1, 12, 5, 6)) writer.add(kernel.view());
    writer.close();
    write_file(split, "train\tp0\ntrain\tp1\nvalidation\tp2\n");
  }
  nlohmann::json request() const {
    options::TrainOptions options;
    options.model.name = "fast";
    options.model.hidden = 16;
    options.steps = 10;
    options.validate_every = 5;
    return {{"dataset", dataset}, {"split", split}, {"out", out}, {"options", to_json(options)}, {"quiet", true}};
  }
};

}  // namespace

TEST_CASE("the train command turns a data set and a split into weights") {
  const Files files;
  const nlohmann::json response = run_train(files.request(), {});
  CHECK(response.at("steps") == 10);
  CHECK(response.at("kernels").at("train") == 8);
  CHECK(response.at("kernels").at("validation") == 4);
  CHECK(response.at("validation").at("programs").size() == 1);
  CHECK(response.at("corrupt_shards") == 0);
  CHECK(load_weights(files.out).options.hidden == 16);
}

TEST_CASE("an interrupted train command still writes the best weights") {
  const Files files;
  nlohmann::json request = files.request();
  request["options"]["steps"] = 1000000;
  const nlohmann::json response = run_train(request, {[] { return true; }, 0});
  CHECK(response.at("interrupted") == true);
  CHECK(std::filesystem::exists(files.out));
}

TEST_CASE("the train command refuses what it cannot train on") {
  const Files files;
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json request = files.request();
    request[key] = value;
    CHECK_THROWS_AS(run_train(request, {}), Error);
  };
  refused("dataset", "/nonexistent");
  refused("split", "/nonexistent");
  write_file(files.split, "train\tp0\nvalidation\tother\n");
  refused("quiet", true);
  write_file(files.split, "train\tother\nvalidation\tp0\n");
  refused("quiet", true);
}
