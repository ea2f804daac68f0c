// The environments on a real worker: steps, memory, crashes, rewards, orders.
#include "passorder/pass_env.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "passorder/pass_order.h"
#include "tests/passorder/session_options.h"
#include "tests/passorder/small_program.h"

using namespace hone;
using namespace hone::passorder;

namespace {

// A dot with an inconsistent type, on which dot_decomposer aborts.
constexpr char kAborts[] = R"(HloModule aborts
ENTRY main {
  a = s8[8] parameter(0)
  b = s16[8] parameter(1)
  ROOT result = s32[8] dot(a, b)
}
)";

struct Files {
  TempDir folder;
  std::string path = (folder.path() / "small.hlo").string();
  Files() { write_file(path, kSmallProgram); }
};

PassEnvOptions env_options(const Files& files) {
  PassEnvOptions options;
  options.programs = {files.path};
  options.session = session_options();
  options.traj_limit = 6;
  return options;
}

int64_t action(const PassEnv& env, const std::string& pass) {
  for (size_t i = 0; i < env.actions().size(); ++i)
    if (env.actions()[i] == pass) return static_cast<int64_t>(i);
  throw InternalError("no action " + pass);
}

}  // namespace

TEST_CASE("the default action set has 53 passes or more, each once and explained", "[rl][passes]") {
  PassSession session(session_options());
  CHECK(session.default_passes().size() >= 53);
  std::set<std::string> names;
  for (const PassInfo& pass : session.passes()) {
    INFO(pass.name);
    CHECK(names.insert(pass.name).second);
    CHECK_FALSE(pass.meaning.empty());
    CHECK(pass.default_action == pass.note.empty());
    CHECK_FALSE((pass.default_action && pass.changes_numerics));
  }
  CHECK(session.default_passes().size() < names.size());
  CHECK_THROWS_AS(session.check_pass("nonsense"), Error);
}

TEST_CASE("a pass changes a state, and is cached the second time", "[rl][passes]") {
  PassSession session(session_options());
  const std::string program = session.load(kSmallProgram, "small");
  const PassStatePtr initial = session.initial(program);
  REQUIRE(initial->instructions == 10);
  const PassStep dce = session.step(program, initial, {}, "dce");
  CHECK(dce.changed);
  CHECK_FALSE(dce.cached);
  CHECK(dce.state->instructions == 9);
  CHECK(dce.state->transcendentals < initial->transcendentals);
  const PassStep again = session.step(program, initial, {}, "dce");
  CHECK(again.cached);
  CHECK(again.state == dce.state);
  const PassStep idle = session.step(program, dce.state, {"dce"}, "dce");
  CHECK_FALSE(idle.changed);
  CHECK(idle.state == dce.state);
  CHECK_THROWS_AS(session.step(program, initial, {}, "nonsense"), Error);
}

TEST_CASE("passes that change nothing leave the state for the next pass unchanged", "[rl][passes]") {
  PassSession session(session_options());
  const std::string program = session.load(kSmallProgram, "small");
  const PassStatePtr initial = session.initial(program);
  for (const char* idle : {"tuple-simplifier", "zero_sized_hlo_elimination", "map-inline"})
    CHECK_FALSE(session.step(program, initial, {}, idle).changed);
  const PassStep dce = session.step(program, initial, {}, "dce");  // uses the copy that passes without changes left
  CHECK(dce.state->instructions == 9);
  CHECK_FALSE(session.step(program, initial, {}, "reshape-mover").changed);
  CHECK(session.step(program, initial, {}, "cse").state->instructions == 9);  // dce did not touch the untouched program
  // A state that is needed again after its module was moved is copied from then on.
  const PassStep cse = session.step(program, dce.state, {"dce"}, "cse");
  CHECK(cse.state->instructions == 8);
  CHECK_FALSE(session.step(program, dce.state, {"dce"}, "reshape-mover").changed);
  CHECK_FALSE(session.step(program, dce.state, {"dce"}, "tuple-simplifier").changed);
  CHECK(session.step(program, dce.state, {"dce"}, "algsimp").state->instructions < 9);
  CHECK(session.step(program, dce.state, {"dce"}, "logistic-expander").state->instructions > 9);
  CHECK(session.step(program, cse.state, {"dce", "cse"}, "dce").state->instructions == 8);
}

TEST_CASE("states outlive the worker: a new one replays them", "[rl][passes]") {
  PassSession session(session_options());
  const std::string program = session.load(kSmallProgram, "small");
  const PassStep dce = session.step(program, session.initial(program), {}, "dce");
  const PassStep cse = session.step(program, dce.state, {"dce"}, "cse");
  const int pid = session.worker_pid();
  REQUIRE(pid > 0);
  REQUIRE(::kill(pid, SIGKILL) == 0);
  const PassStep algsimp = session.step(program, cse.state, {"dce", "cse"}, "algsimp");
  CHECK(algsimp.error.empty());
  CHECK(algsimp.changed);
  CHECK(session.worker_restarts() == 1);
  PassSession fresh(session_options());
  fresh.load(kSmallProgram, "small");
  CHECK(fresh.hlo(program, {"dce", "cse", "algsimp"}).find("ENTRY") != std::string::npos);
}

TEST_CASE("a pass that aborts leaves the state and this process unchanged", "[rl][passes]") {
  const Files files;
  write_file(files.path, kAborts);
  PassEnv env(env_options(files));
  env.reset(0);
  const std::string before = env.state().fingerprint;
  const Step aborted = env.step(action(env, "dot_decomposer"));
  CHECK(aborted.error.find("dot_decomposer") == 0);
  CHECK(aborted.error.find("SIGABRT") != std::string::npos);
  CHECK(aborted.reward == Approx(-0.1));
  CHECK(env.state().fingerprint == before);
  CHECK(env.info()["error"] == aborted.error);
  CHECK(env.session().worker_pid() == -1);
  const Step next = env.step(action(env, "operand_upcaster"));
  CHECK(next.error.empty());
  CHECK(env.state().fingerprint != before);
  env.reset(0);
  CHECK(env.step(action(env, "dot_decomposer")).error == aborted.error);  // cached: no second worker dies
  CHECK(env.session().worker_restarts() == 1);
}

TEST_CASE("a state seen before in the episode is reported", "[rl][passes]") {
  const Files files;
  PassEnv env(env_options(files));
  env.reset(0);
  env.step(action(env, "dce"));
  CHECK(env.info()["revisited"] == false);
  CHECK(env.info()["changed"] == true);
  env.step(action(env, "dce"));  // a pass without a change is not a revisit
  CHECK(env.info()["revisited"] == false);
  CHECK(env.info()["changed"] == false);
}

TEST_CASE("two independent passes lead to the same state in either order", "[rl][passes]") {
  PassSession session(session_options());
  const std::string program = session.load(kSmallProgram, "small");
  const PassStatePtr initial = session.initial(program);
  const PassStep a = session.step(program, initial, {}, "dce");
  const PassStep ab = session.step(program, a.state, {"dce"}, "logistic-expander");
  const PassStep b = session.step(program, initial, {}, "logistic-expander");
  const PassStep ba = session.step(program, b.state, {"logistic-expander"}, "dce");
  CHECK(ab.state->fingerprint == ba.state->fingerprint);
  CHECK(a.state->fingerprint != b.state->fingerprint);
}

TEST_CASE("an episode is a function of seed and actions, and ends at its limit", "[rl][passes]") {
  const Files files;
  PassEnv env(env_options(files));
  std::vector<double> rewards[2];
  for (auto& list : rewards) {
    const Observation first = env.reset(7);
    CHECK(first.values.size() == static_cast<size_t>(env.spec().observation_width));
    Rng rng(3);
    for (int i = 0; i < 6; ++i) {
      const Step step = env.step(rng.below(env.spec().actions));
      list.push_back(step.reward);
      CHECK(step.truncated == (i == 5));
      CHECK_FALSE(step.terminated);
    }
  }
  CHECK(rewards[0] == rewards[1]);
  CHECK_THROWS_AS(env.step(0), InternalError);
  env.reset(7);
  CHECK_THROWS_AS(env.step(-1), Error);
  CHECK_THROWS_AS(env.step(env.spec().actions), Error);
  CHECK_THROWS_AS(env.reset(0, {"no-such-program"}), Error);
}

TEST_CASE("rewards sum to the reduction of instructions", "[rl][passes]") {
  const Files files;
  PassEnv env(env_options(files));
  env.reset(0);
  double sum = 0;
  for (const char* pass : {"dce", "cse", "algsimp", "dce"}) sum += env.step(action(env, pass)).reward;
  const auto left = static_cast<double>(env.state().instructions);
  CHECK(left < 10);
  CHECK(sum == Approx((10 - left) / 10).margin(1e-12));
  const auto info = env.info();
  CHECK(info["passes"].size() == 4);
  CHECK(info["instructions"] == env.state().instructions);
  CHECK(info["opcodes"]["parameter"] == 2);
}

TEST_CASE("shaping without discount adds the potential of the end minus that of the start", "[rl][passes]") {
  const Files files;
  PassEnvOptions options = env_options(files);
  options.shaping = true;
  options.gamma = 1;
  PassEnv env(options);
  env.reset(0);
  const double before = env.state().cost();
  double sum = 0;
  for (const char* pass : {"dce", "cse", "algsimp"}) sum += env.step(action(env, pass)).reward;
  const double operations = static_cast<double>(10 - env.state().instructions) / 10;
  CHECK(sum - operations == Approx(1 - env.state().cost() / before).margin(1e-9));
}

TEST_CASE("a clone is independent", "[rl][passes]") {
  const Files files;
  PassEnv env(env_options(files));
  env.reset(0);
  env.step(action(env, "dce"));
  const auto copy = env.clone();
  copy->step(action(env, "cse"));
  CHECK(env.info()["passes"].size() == 1);
  CHECK(copy->info()["passes"].size() == 2);
  CHECK(copy->info()["instructions"] < env.info()["instructions"]);
}

TEST_CASE("graph and cost observations fit their spec", "[rl][passes]") {
  const Files files;
  PassEnvOptions options = env_options(files);
  options.graph = options.costs = true;
  PassEnv env(options);
  const Observation observation = env.reset(0);
  REQUIRE(observation.graph);
  CHECK(observation.values.empty());
  CHECK(observation.graph->nodes() == 10);
  CHECK(observation.graph->node_features.size() == static_cast<size_t>(10 * env.spec().node_width));
  CHECK(observation.graph->edge_from.size() == observation.graph->edge_to.size());
  CHECK_FALSE(observation.graph->edge_from.empty());
  CHECK(observation.costs.size() == static_cast<size_t>(env.spec().cost_width));
  const Step step = env.step(action(env, "dce"));
  CHECK(step.observation.graph->nodes() == 9);
}

TEST_CASE("an observation shows which passes were taken in the present state", "[rl][passes]") {
  const Files files;
  PassEnvOptions options = pass_env_options("hone/XlaPassOrderActionHistory-v0");
  options.programs = {files.path};
  options.session = session_options();
  options.passes = {"zero_sized_hlo_elimination", "dce", "tuple-simplifier"};
  PassEnv env(options);
  const auto taken = [&](const Observation& seen) {
    REQUIRE(seen.values.size() == static_cast<size_t>(env.spec().observation_width));
    return std::vector<float>(seen.values.end() - 3, seen.values.end());
  };
  CHECK(taken(env.reset(0)) == std::vector<float>{0, 0, 0});
  CHECK(taken(env.step(0).observation) == std::vector<float>{1, 0, 0});
  CHECK(taken(env.step(2).observation) == std::vector<float>{1, 0, 1});
  CHECK(taken(env.step(1).observation) == std::vector<float>{0, 0, 0});  // another program, another state
  CHECK(taken(env.step(1).observation) == std::vector<float>{0, 1, 0});
  CHECK(taken(env.reset(0)) == std::vector<float>{0, 0, 0});
}

TEST_CASE("an observation shows which passes changed the program, and how long ago", "[rl][passes]") {
  const Files files;
  PassEnvOptions options = pass_env_options("hone/XlaPassOrderChangeHistory-v0");
  options.programs = {files.path};
  options.session = session_options();
  options.passes = {"zero_sized_hlo_elimination", "dce", "cse"};
  PassEnv env(options);
  const auto changes = [&](const Observation& seen) {
    REQUIRE(seen.values.size() == static_cast<size_t>(env.spec().observation_width));
    return std::vector<float>(seen.values.end() - 8, seen.values.end());
  };
  CHECK(changes(env.reset(0)) == std::vector<float>{0, 0, 0, 0, 0, 0, 1, 0});
  CHECK(changes(env.step(0).observation) == std::vector<float>{0, 0, 0, 0, 0, 0, 1, 0});  // it changes nothing
  const auto shrunk = [&](int64_t left) { return static_cast<float>(static_cast<double>(left) / 10); };
  CHECK(changes(env.step(1).observation) == std::vector<float>{0, 0.25f, 0, 0, 1, 0, shrunk(9), 1 / 45.0f});
  CHECK(changes(env.step(2).observation) == std::vector<float>{0, 0.25f, 0.25f, 0, 0.8f, 1, shrunk(8), 2 / 45.0f});
  CHECK(changes(env.reset(0)) == std::vector<float>{0, 0, 0, 0, 0, 0, 1, 0});
}

TEST_CASE("the run time is measured once, at the end", "[rl][passes]") {
  const Files files;
  PassEnvOptions options = env_options(files);
  options.run_time = true;
  options.traj_limit = 2;
  options.measure_ms = 20;
  PassEnv env(options);
  env.reset(0);
  CHECK(env.step(action(env, "dce")).reward == 0);
  const Step last = env.step(action(env, "cse"));
  CHECK(last.terminated);
  CHECK(last.error.empty());
  CHECK(std::isfinite(last.reward));
  CHECK(env.info()["run_time"]["verified"] == true);
}

TEST_CASE("programs of equal file names have names of their own", "[rl][passes]") {
  const Files files;
  PassEnvOptions options = env_options(files);
  const auto folder = files.folder.path();
  const std::string a = (folder / "a" / "model.hlo").string(), b = (folder / "b" / "model.hlo").string();
  for (const std::string& path : {a, b}) std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  write_file(a, kSmallProgram);
  write_file(b, kAborts);
  options.programs = {a, b, files.path, files.path};
  PassEnv env(options);
  CHECK(env.programs() == std::vector<std::string>{a, b, "small", "small"});
  for (const std::string& name : {a, b}) {
    env.reset(0, {name});
    CHECK(env.info()["program"] == name);
    CHECK(env.state().instructions == (name == a ? 10 : 3));
  }
  CHECK_THROWS_AS(env.reset(0, {"model"}), Error);  // of which file?
}

TEST_CASE("bad options are named", "[rl][passes]") {
  const Files files;
  PassEnvOptions options = env_options(files);
  options.programs.clear();
  CHECK_THROWS_AS(PassEnv(options), Error);
  options = env_options(files);
  options.passes = {"nonsense"};
  CHECK_THROWS_AS(PassEnv(options), Error);
  options = env_options(files);
  options.programs = {"/nonexistent/program.hlo"};
  CHECK_THROWS_AS(PassEnv(options), Error);
  options = env_options(files);
  options.traj_limit = 0;
  CHECK_THROWS_AS(PassEnv(options), Error);
  CHECK_THROWS_AS(pass_env_options("hone/Nonsense-v0"), Error);
  CHECK(pass_env_ids().size() == 8);
  CHECK(pass_env_options("hone/XlaPassOrderTaken-v0").id == "hone/XlaPassOrderActionHistory-v0");  // before 0.2
}

TEST_CASE("an order is never worse than XLA's own, and its outputs agree", "[rl][passes]") {
  PassSession session(session_options());
  const std::string program = session.load(kSmallProgram, "small");
  for (const char* strategy : {"greedy", "random"}) {
    INFO(strategy);
    OrderOptions options;
    options.strategy = strategy;
    options.max_applications = 400;
    options.budget_s = 600;
    options.length = 6;
    options.measure_ms = 20;
    options.guard = false;  // it measures, so that a run with it is no function of the seed
    const OrderReport report = order_passes(session, program, options);
    CHECK(report.found.state->instructions <= report.xla.state->instructions);
    CHECK(report.xla.state->instructions < report.initial->instructions);
    CHECK(report.found.duel.verified);
    CHECK(session.verify(program, report.found.passes).empty());
    const OrderReport again = order_passes(session, program, options);
    CHECK(again.found.passes == report.found.passes);
  }
  OrderOptions unknown;
  unknown.strategy = "nonsense";
  CHECK_THROWS_AS(order_passes(session, program, unknown), Error);
}
