#include "collect/generate.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "collect/hlo_text.h"
#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::collect {
namespace {

std::map<std::string, int> opcodes(const std::string& hlo) {
  static const std::regex instruction(R"(= (?:\([^=]*\)|[a-z0-9]+\[[0-9,]*\]) ([a-z-]+)\()");
  std::map<std::string, int> counts;
  for (auto it = std::sregex_iterator(hlo.begin(), hlo.end(), instruction); it != std::sregex_iterator(); ++it)
    ++counts[(*it)[1].str()];
  return counts;
}

double largest_array(const std::string& hlo) {
  static const std::regex shape(R"(\[([0-9,]+)\])");
  double largest = 0;
  for (auto it = std::sregex_iterator(hlo.begin(), hlo.end(), shape); it != std::sregex_iterator(); ++it) {
    std::istringstream sizes((*it)[1].str());
    double product = 1;
    for (std::string size; std::getline(sizes, size, ',');) product *= std::stod(size);
    largest = std::max(largest, product);
  }
  return largest;
}

}  // namespace

TEST_CASE("the same seed makes the same program, another another", "[generate]") {
  for (GenerateKind kind : {GenerateKind::Kernel, GenerateKind::Program}) {
    GenerateOptions options{.kind = kind, .seed = 3};
    std::set<std::string> distinct;
    for (int i = 0; i < 50; ++i) {
      const std::string text = generate_program(options, i);
      CHECK(text == generate_program(options, i));
      distinct.insert(text);
    }
    CHECK(distinct.size() == 50);
    const std::string before = generate_program(options, 0);
    options.seed = 4;
    CHECK(before != generate_program(options, 0));
  }
}

TEST_CASE("generated kernels cover the operations fusions are made of", "[generate]") {
  std::map<std::string, int> all;
  for (int i = 0; i < 300; ++i)
    for (const auto& [opcode, count] : opcodes(generate_program({.kind = GenerateKind::Kernel}, i)))
      all[opcode] += count;
  for (const char* opcode :
       {"add", "multiply", "broadcast", "transpose", "reduce", "concatenate", "slice", "pad", "dot", "select",
        "compare", "clamp", "convert", "reverse", "iota", "tanh", "exponential", "divide"})
    CHECK(all[opcode] > 0);
}

TEST_CASE("generated programs cover the layers models are made of", "[generate]") {
  std::map<std::string, int> all;
  for (int i = 0; i < 100; ++i)
    for (const auto& [opcode, count] : opcodes(generate_program({.kind = GenerateKind::Program}, i)))
      all[opcode] += count;
  for (const char* opcode :
       {"dot", "convolution", "reduce", "rsqrt", "exponential", "logistic", "erf", "transpose", "concatenate"})
    CHECK(all[opcode] > 0);
}

TEST_CASE("arrays stay below the limit", "[generate]") {
  for (int i = 0; i < 200; ++i)
    CHECK(largest_array(generate_program({.kind = GenerateKind::Kernel, .max_elements = 65536}, i)) <= 65536);
  CHECK_THROWS_AS(generate_program({.max_elements = 10}, 0), Error);
}

TEST_CASE("the writer keeps shapes right", "[generate]") {
  HloText text;
  const Value x = text.parameter("f32", {4, 8, 6});
  CHECK(text.transpose(x, {2, 0, 1}).dims == Dims{6, 4, 8});
  CHECK(text.reduce("add", x, {1}).dims == Dims{4, 6});
  CHECK(text.slice(x, {0, 1, 0}, {4, 8, 6}, {1, 2, 1}).dims == Dims{4, 4, 6});
  CHECK(text.pad(x, {0, 1, 0}, {0, 2, 0}).dims == Dims{4, 11, 6});
  CHECK(text.concatenate(x, x, 2).dims == Dims{4, 8, 12});
  CHECK(text.dot(x, text.parameter("f32", {6, 5}), 0, 0).dims == Dims{4, 8, 5});
  CHECK(text.dot(x, text.parameter("f32", {4, 7, 6}), 1, 2).dims == Dims{4, 8, 7});
  const Value image = text.parameter("f32", {2, 15, 16, 3});
  CHECK(text.convolution(image, text.parameter("f32", {3, 3, 3, 8}), 2, 1).dims == Dims{2, 8, 8, 8});
  CHECK_THROWS_AS(text.binary("add", x, image), InternalError);
  Value grows = x;
  for (int i = 0; i < 40; ++i) grows = text.binary("multiply", grows, grows);
  CHECK(grows.log_max <= 20);
}

TEST_CASE("generated programs load and run in the worker", "[generate][worker]") {
  const tune::SessionOptions options = tune::with_worker();
  REQUIRE(std::filesystem::exists(options.worker.program));
  tune::Session session(options);
  for (int i = 0; i < 30; ++i) {
    const GenerateOptions made{
        .kind = i % 3 == 2 ? GenerateKind::Program : GenerateKind::Kernel, .seed = 1, .max_elements = 1 << 17};
    const std::string name = generated_name(made, i);
    INFO(name);
    session.load(generate_program(made, i), name);
    CHECK(session.program().instructions > 0);
    CHECK(session.run({}, 1, /*want_outputs=*/false).times_ns.size() == 1);
  }
}

}  // namespace hone::collect
