// Which of the best orders is returned, on a real worker: a gather that became a loop is slower on every machine.
#include "passorder/order_guard.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "passorder/pass_order.h"
#include "tests/passorder/session_options.h"

using namespace hone;
using namespace hone::passorder;

namespace {

// A gather of rows, which XLA:CPU runs as it is, and a dead instruction.
constexpr char kGather[] = R"(HloModule gathers
ENTRY main {
  table = f32[1000,32] parameter(0)
  rows = s32[4000,1] parameter(1)
  dead = f32[1000,32] tanh(table)
  ROOT r = f32[4000,32] gather(table, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,32}
}
)";

PassDuel duel_of(double low, double ratio, double high) {
  PassDuel duel;
  duel.verified = true;
  duel.ratio = ratio;
  duel.ratio_low = low;
  duel.ratio_high = high;
  return duel;
}

struct Guarded {
  PassSession session{session_options()};
  std::string program = session.load(kGather, "gathers");

  // The passes, with a metric as if so many instructions were left.
  Ordered as_if(const PassHistory& passes, int64_t instructions) {
    PassState state = *session.initial(program);
    for (const std::string& pass : passes)
      state.fingerprint = session.step(program, session.initial(program), {}, pass).state->fingerprint;
    state.instructions = instructions;
    return {passes, std::make_shared<const PassState>(state), {}};
  }
  GuardChoice choose(const std::vector<Ordered>& candidates, bool on) {
    Ordered xla = as_if({kDefaultOrder}, 100);
    return choose_order(session, program, {on, OrderMetric::Operations, 20, 40}, xla, candidates);
  }
  // After Ctrl-C.
  GuardChoice stopped(const std::vector<Ordered>& candidates) {
    Ordered xla = as_if({kDefaultOrder}, 100);
    return choose_order(session, program, {true, OrderMetric::Operations, 20, 40, [] { return true; }}, xla,
                        candidates);
  }
};

const PassHistory kLoop = {"gather_expander"}, kLoopToo = {"dce", "gather_expander"}, kFast = {"dce"};

}  // namespace

TEST_CASE("the guard reads the interval of a duel", "[rl]") {
  CHECK(surely_slower(duel_of(0.5, 0.6, 0.7)));
  CHECK(seems_slower(duel_of(0.5, 0.6, 0.7)));
  CHECK_FALSE(surely_slower(duel_of(0.9, 0.95, 1.1)));  // noise: another duel decides
  CHECK(seems_slower(duel_of(0.9, 0.95, 1.1)));
  CHECK(seems_slower(duel_of(0.991, 0.993, 0.996)));
  CHECK_FALSE(seems_slower(duel_of(0.98, 0.995, 1.02)));
  CHECK_FALSE(seems_slower(duel_of(1.2, 1.3, 1.4)));
}

TEST_CASE("where run time is the metric an order must not be slower at all", "[rl]") {
  const PassDuel duel = duel_of(0.98, 0.995, 1.02);
  CHECK(seems_slower(duel, OrderMetric::RunTime));
  CHECK_FALSE(seems_slower(duel, OrderMetric::Operations));
  CHECK_FALSE(seems_slower(duel_of(0.98, 1, 1.02), OrderMetric::RunTime));
}

TEST_CASE("where run time is the metric default XLA is a candidate, without the guard as well", "[rl][passes]") {
  Guarded t;
  for (const bool on : {false, true}) {
    Ordered slow_xla = t.as_if(kLoop, 100), slow = t.as_if(kLoopToo, 90);
    slow.duel = duel_of(3, 3, 3);  // as if a duel of the search had shown the opposite
    const GuardChoice choice = choose_order(t.session, t.program, {on, OrderMetric::RunTime, 20, 40}, slow_xla, {slow});
    CHECK(surely_slower(slow_xla.duel));
    CHECK(choice.found.passes.empty());
  }
}

TEST_CASE("after an interrupt one candidate is measured, and no duel in another process begins", "[rl][passes]") {
  Guarded t;
  const int pid = (t.session.initial(t.program), t.session.worker_pid());
  const GuardChoice choice = t.stopped({t.as_if(kLoop, 50), t.as_if(kFast, 70)});
  REQUIRE(choice.slower.size() >= 1);
  CHECK(choice.slower[0].passes == kLoop);
  CHECK(choice.found.passes != kFast);  // XLA's own, or where that duel is slower by chance none
  CHECK(choice.found.duel.verified);
  CHECK(t.session.worker_pid() == pid);
  CHECK(t.session.worker_restarts() == 0);
}

TEST_CASE("an order that runs slower is replaced by the next best that does not", "[rl][passes]") {
  Guarded t;
  const std::vector<Ordered> candidates = {t.as_if(kLoop, 50), t.as_if(kLoopToo, 60), t.as_if(kFast, 70)};
  const GuardChoice choice = t.choose(candidates, true);
  REQUIRE_FALSE(choice.slower.empty());
  CHECK(choice.slower[0].passes == kLoop);
  CHECK(surely_slower(choice.slower[0].duel));
  CHECK(choice.skipped == 1);  // the same kernels, so it is not measured
  CHECK(choice.found.passes != kLoop);
  CHECK(choice.found.passes != kLoopToo);
  CHECK(choice.found.duel.verified);
  CHECK_FALSE(surely_slower(choice.found.duel));

  const GuardChoice unguarded = t.choose(candidates, false);
  CHECK(unguarded.found.passes == kLoop);
  CHECK(unguarded.slower.empty());
}

TEST_CASE("where every better order runs slower it is XLA's own, or the program as it is", "[rl][passes]") {
  Guarded t;
  const GuardChoice choice = t.choose({t.as_if(kLoop, 50)}, true);
  REQUIRE_FALSE(choice.slower.empty());
  CHECK(choice.slower[0].passes == kLoop);
  CHECK(choice.found.passes != kLoop);  // XLA's own; by noise, in a duel of 40 ms, sometimes none

  Ordered slow_xla = t.as_if(kLoop, 100);
  const GuardChoice none = choose_order(t.session, t.program, {true, OrderMetric::Operations, 20, 40}, slow_xla, {});
  CHECK(none.found.passes.empty());
  CHECK(none.slower.size() == 1);
}

TEST_CASE("what is not better than XLA's own order is not tried", "[rl][passes]") {
  Guarded t;
  CHECK(t.choose({t.as_if(kFast, 100)}, false).found.passes == PassHistory{kDefaultOrder});
}
