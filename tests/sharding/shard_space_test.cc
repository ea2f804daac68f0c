#include "sharding/shard_space.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"
#include "sharding/baselines.h"
#include "tests/sharding/graphs.h"

namespace hone::sharding {

namespace {

ShardSpace blocks_on(const std::string& mesh, bool products = false) {
  const test::ShardGraph g = test::two_blocks();
  return make_space(parse_mesh(mesh), read_arguments(g.graph(), std::nullopt), products);
}

std::map<std::string, std::string> texts(const ShardSpace& space, const Choice& choice) {
  std::map<std::string, std::string> out;
  for (const NamedSharding& s : shardings_of(space, choice)) out[s.instruction] = s.value;
  return out;
}

std::map<std::string, std::string> rule(const ShardSpace& space, const std::string& name) {
  for (const Baseline& baseline : baselines(space))
    if (baseline.name == name) return texts(space, baseline.choice);
  return {{"no such rule", name}};
}

}  // namespace

TEST_CASE("the space has every way that divides", "[sharding]") {
  const ShardSpace one = blocks_on("2");
  for (const Subject& subject : one.subjects) CHECK(subject.options.size() == 3);  // replicated, rows, columns
  const ShardSpace two = blocks_on("2x4");
  // Each of two axes divides one of two dimensions or none.
  for (const Subject& subject : two.subjects) CHECK(subject.options.size() == 9);
  // Of [32, 64] and 3 devices nothing divides.
  CHECK_THROWS_AS(blocks_on("3"), Error);
  CHECK(blocks_on("2", true).subjects.size() > one.subjects.size());
  CHECK(texts(one, one.space.default_choice()).empty());
}

TEST_CASE("the usual rules", "[sharding]") {
  const ShardSpace space = blocks_on("2");
  const std::string rows = "{devices=[2,1]<=[2]}", columns = "{devices=[1,2]<=[2]}";
  CHECK(rule(space, "replicated").empty());
  CHECK(rule(space, "data-parallel") == std::map<std::string, std::string>{{"x", rows}});
  CHECK(rule(space, "tensor-parallel") ==
        std::map<std::string, std::string>{{"a0", columns}, {"b0", rows}, {"a1", columns}, {"b1", rows}});
  CHECK(rule(space, "fully-sharded") ==
        std::map<std::string, std::string>{{"a0", columns}, {"b0", rows}, {"a1", columns}, {"b1", rows}, {"x", rows}});
}

TEST_CASE("with two axes data and weights can use one each", "[sharding]") {
  const ShardSpace space = blocks_on("2x4");
  const auto both = rule(space, "data-tensor");
  CHECK(both.at("x") == "{devices=[2,1,4]<=[8] last_tile_dim_replicate}");
  CHECK(both.at("a0") == "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  CHECK(rule(space, "data-parallel").at("x") == "{devices=[8,1]<=[8]}");
}

TEST_CASE("a rule divides by as many axes as fit", "[sharding]") {
  // 32 rows: by 2 x 5 axes only the first divides.
  const ShardSpace space = blocks_on("2x5");
  CHECK(rule(space, "data-parallel").at("x") == "{devices=[2,1,5]<=[10] last_tile_dim_replicate}");
}

}  // namespace hone::sharding
