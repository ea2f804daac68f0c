#include "options/safetensors.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "options/model_options.h"
#include "options/train_options.h"

using namespace hone;
using namespace hone::options;

namespace {

TensorFile example() {
  TensorFile file;
  file.metadata = {{"format", "x"}, {"note", "\"quoted\""}};
  file.tensors["b"] = {"F32", {2, 1}, std::string(8, '\1')};
  file.tensors["a"] = {"U8", {3}, "abc"};
  file.tensors["empty"] = {"F32", {0, 4}, ""};
  return file;
}

std::string with_header(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string content(8, '\0');
  std::memcpy(content.data(), &length, 8);
  return content + header + data;
}

}  // namespace

TEST_CASE("safetensors come back as written, through a file") {
  const TempDir folder;
  const std::string path = (folder.path() / "w.safetensors").string();
  write_safetensors(path, example());
  const TensorFile read = read_safetensors(path);
  CHECK(read.metadata == example().metadata);
  CHECK(read.tensors == example().tensors);
  CHECK(encode_safetensors(read) == encode_safetensors(example()));
  uint64_t length = 0;
  std::memcpy(&length, encode_safetensors(example()).data(), 8);
  CHECK(length % 8 == 0);
}

TEST_CASE("damaged safetensors are refused") {
  const std::string good = encode_safetensors(example());
  for (size_t size = 0; size < good.size(); ++size)
    CHECK_THROWS_AS(decode_safetensors(good.substr(0, size), "f"), Error);
  CHECK_THROWS_AS(decode_safetensors(good + "x", "f"), Error);
  const char* headers[] = {
      "[]",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})",
      R"({"a":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})",
      R"({"__metadata__":{"k":1}})",
  };
  for (const char* header : headers) {
    INFO(header);
    CHECK_THROWS_AS(decode_safetensors(with_header(header, "1234"), "f"), Error);
  }
  try {
    decode_safetensors("", "weights.safetensors");
    FAIL();
  } catch (const Error& e) {
    CHECK(e.where() == "weights.safetensors");
  }
}

TEST_CASE("model options are unchanged by JSON, and errors name bad ones") {
  for (const ModelName& row : model_names()) {
    ModelOptions options;
    options.name = row.name;
    options.tile_join = Join::Kernel;
    options.directed = false;
    CHECK(to_json(model_options_from_json(to_json(options))) == to_json(options));
  }
  CHECK(std::string(find_model("fast").name) == "late-fusion");  // its name in weights of older versions
  CHECK(find_model("fast").late_fusion);
  CHECK(model_options_from_json({{"name", "fast"}}).name == "fast");
  CHECK_THROWS_AS(model_options_from_json({{"name", "sage+gru"}}), Error);
  CHECK_THROWS_AS(model_options_from_json({{"hiden", 4}}), Error);
  CHECK_THROWS_AS(model_options_from_json({{"hidden", "x"}}), Error);
  CHECK_THROWS_AS(model_options_from_json({{"hidden", 0}}), Error);
  CHECK_THROWS_AS(model_options_from_json({{"dropout", 1}}), Error);
  CHECK_THROWS_AS(model_options_from_json({{"name", "gat+lstm"}, {"hidden", 33}}), Error);
  CHECK_THROWS_AS(join_from_name("nodes"), Error);
}

TEST_CASE("training options: the paper's rows, and invalid values") {
  using namespace hone::options;
  TrainOptions paper = paper_options("tile", "sage+lstm");
  CHECK(paper.model.hidden == 1024);
  CHECK(paper.learning_rate == 0.000386);
  CHECK(paper.decay == 0.98);
  CHECK(paper.clip_norm == 1);
  CHECK(paper_options("fusion", "sage+transformer").model.l2_norm);
  for (const char* task : {"tile", "fusion"})
    for (const ModelName& row : model_names()) {
      TrainOptions options = paper_options(task, row.name);
      CHECK_NOTHROW(options.settle());
      CHECK(to_json(train_options_from_json(to_json(options))) == to_json(options));
    }
  TrainOptions fusion = paper_options("fusion", "late-fusion");
  fusion.loss = "rank-hinge";
  CHECK_THROWS_AS(fusion.settle(), Error);
  CHECK_THROWS_AS(train_options_from_json({{"step", 1}}), Error);
  CHECK_THROWS_AS(train_options_from_json({{"steps", "many"}}), Error);
  CHECK_THROWS_AS(paper_options("layout", "late-fusion"), Error);
  paper.processes = 2;
  CHECK_THROWS_AS(paper.settle(), Error);
}
