#include "cli/struct_options.h"

#include <catch2/catch.hpp>

#include "cli/help.h"
#include "options/agent_options.h"
#include "options/go_train_options.h"

namespace hone::cli {

TEST_CASE("options of a struct's list replace only the members that were given", "[cli]") {
  CLI::App app;
  StructOptions<options::AgentOptions> agent;
  agent.add_to(app);
  StructOptions<options::ModelOptions> model;
  CLI::App other;
  model.add_to(other);

  app.parse("--clip-norm 2 --network gnn --layers 64,32 --no-normalize --value-features", false);
  options::AgentOptions o = options::paper_options("dqn");
  o.batch = 7;
  agent.put_into(o);
  CHECK(o.clip_norm == 2);
  CHECK(o.policy == "gnn");
  CHECK(o.layers == std::vector<int64_t>{64, 32});
  CHECK_FALSE(o.normalize);
  CHECK(o.value_features);
  CHECK(o.batch == 7);
  CHECK(o.double_q);
  CHECK(agent.was_given("clip_norm"));
  CHECK_FALSE(agent.was_given("batch"));

  other.parse("--tile kernel --undirected", false);
  options::ModelOptions m;
  model.put_into(m);
  CHECK(m.tile_join == options::Join::Kernel);
  CHECK(m.static_join == options::Join::Node);
  CHECK_FALSE(m.directed);
  CHECK_THROWS_AS(other.parse("--tile nodes", false), CLI::ValidationError);
}

TEST_CASE("an old spelling sets the same member and is not shown", "[cli]") {
  CLI::App app;
  app.formatter(std::make_shared<HelpFormatter>());
  StructOptions<options::AgentOptions> agent;
  agent.add_to(app);
  app.parse("--policy gnn", false);
  options::AgentOptions o;
  agent.put_into(o);
  CHECK(o.policy == "gnn");
  CHECK_THAT(app.help(), Catch::Contains("--network") && !Catch::Contains("--policy"));
  CHECK_THAT(app.help(), Catch::Contains("(default 0.99)"));
}

TEST_CASE("widths are numbers separated by commas, or none", "[cli]") {
  CHECK(parse_widths("none", "--layers").empty());
  CHECK(parse_widths("16", "--layers") == std::vector<int64_t>{16});
  CHECK_THROWS_AS(parse_widths("wide", "--layers"), CLI::ValidationError);
}

TEST_CASE("options of training a graph policy survive JSON", "[cli]") {
  options::GoTrainOptions o;
  o.iterations = 3;
  o.entropy = 0.5;
  CHECK(to_json(options::go_train_options_from_json(to_json(o))) == to_json(o));
  CHECK_THROWS_AS(options::go_train_options_from_json({{"iteration", 1}}), Error);
  CHECK_THROWS_AS(options::go_train_options_from_json({{"samples", 1}}), Error);
}

}  // namespace hone::cli
