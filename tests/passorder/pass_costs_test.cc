// Costs of states: with each step, or when they are asked for.
#include <catch2/catch.hpp>
#include <set>

#include "base/files.h"
#include "base/rng.h"
#include "passorder/pass_env.h"
#include "tests/passorder/session_options.h"
#include "tests/passorder/small_program.h"

using namespace hone;
using namespace hone::passorder;

TEST_CASE("costs are those of the state, whether they come with the step or are asked for", "[rl][passes]") {
  PassSessionOptions options = session_options();
  PassSession eager(options);
  options.costs = false;
  PassSession frugal(options);
  const std::string program = eager.load(kSmallProgram, "small");
  REQUIRE(frugal.load(kSmallProgram, "small") == program);
  CHECK(frugal.initial(program)->cost() == eager.initial(program)->cost());
  PassStatePtr with = eager.initial(program), without = frugal.initial(program);
  PassHistory history;
  std::set<double> different;
  for (const char* pass : {"dce", "logistic-expander", "algsimp", "cse"}) {
    INFO(pass);
    with = eager.step(program, with, history, pass).state;
    const PassStep step = frugal.step(program, without, history, pass);
    REQUIRE(step.changed);
    history.emplace_back(pass);
    without = step.state;
    CHECK_FALSE(without->costed);
    CHECK(without->fingerprint == with->fingerprint);
    const PassStatePtr asked = frugal.with_costs(program, without, history);
    REQUIRE(asked->costed);
    CHECK(asked->instructions == with->instructions);
    CHECK(asked->counts == with->counts);
    CHECK(asked->flops == with->flops);
    CHECK(asked->transcendentals == with->transcendentals);
    CHECK(asked->bytes == with->bytes);
    different.insert(asked->bytes);
    const double calls = frugal.counters().call_ms;
    CHECK(frugal.with_costs(program, without, history) == asked);
    CHECK(frugal.with_costs(program, asked, history) == asked);
    CHECK(frugal.counters().call_ms == calls);  // no message
  }
  CHECK(different.size() >= 3);
  PassSession other(options);  // whose worker has to reach the state by replaying the passes
  other.load(kSmallProgram, "small");
  CHECK(other.with_costs(program, without, history)->bytes == with->bytes);
}

TEST_CASE("an episode is the same with and without costs of its steps", "[rl][passes]") {
  const TempDir folder;
  PassEnvOptions options;
  options.programs = {(folder.path() / "small.hlo").string()};
  options.session = session_options();
  write_file(options.programs.front(), kSmallProgram);
  PassEnv frugal(options);
  options.info_costs = true;
  PassEnv eager(options);
  for (uint64_t episode = 0; episode < 3; ++episode) {
    Rng rng(episode);
    CHECK(frugal.reset(episode).values == eager.reset(episode).values);
    for (int64_t step = 0; step < options.traj_limit; ++step) {
      const int64_t action = rng.below(frugal.spec().actions);
      const Step a = frugal.step(action), b = eager.step(action);
      CHECK(a.observation.values == b.observation.values);
      CHECK(a.reward == b.reward);
      CHECK(a.done() == b.done());
      CHECK(frugal.state().fingerprint == eager.state().fingerprint);
      if (step % 7 != 0) continue;
      nlohmann::json of_frugal = frugal.info(), of_eager = eager.info();
      of_frugal.erase("pass_ms");
      of_eager.erase("pass_ms");
      CHECK(of_frugal == of_eager);
      CHECK(frugal.render() == eager.render());
    }
  }
  CHECK(eager.state().costed);
}
