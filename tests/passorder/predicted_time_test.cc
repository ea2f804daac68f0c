// Predicted run times of ordered programs, with a model whose predictions are known.
#include "passorder/predicted_time.h"

#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>

#include "base/error.h"
#include "features/opcodes.h"
#include "passorder/pass_order.h"
#include "tests/passorder/session_options.h"

using namespace hone;
using namespace hone::passorder;

namespace {

// Two dots of equal shapes, and a third that is dead.
constexpr char kDots[] = R"(HloModule dots
ENTRY main {
  x = f32[64,64] parameter(0)
  y = f32[64,64] parameter(1)
  dead = f32[64,64] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT b = f32[64,64] dot(a, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)";

// A dot with an inconsistent type, on which XLA's compiler aborts.
constexpr char kNotCompiled[] = R"(HloModule aborts
ENTRY main {
  a = s8[8] parameter(0)
  b = s16[8] parameter(1)
  ROOT result = s32[8] dot(a, b)
}
)";

class FixedModel : public cost::LearnedModel {
 public:
  explicit FixedModel(bool run_times, int& asked) : run_times_(run_times), asked_(asked) {}
  std::string name() const override { return "fixed"; }
  std::string task() const override { return "fusion"; }
  bool predicts_runtime() const override { return run_times_; }
  std::vector<double> predict(const KernelView& kernel) override {
    ++asked_;
    return std::vector<double>(kernel.runtime_ns.size(), 100);
  }

 private:
  bool run_times_;
  int& asked_;
};

// Kernels with a gather take long.
class SlowGathers : public cost::LearnedModel {
 public:
  std::string name() const override { return "slow gathers"; }
  std::string task() const override { return "fusion"; }
  bool predicts_runtime() const override { return true; }
  std::vector<double> predict(const KernelView& kernel) override {
    const auto gather = static_cast<uint8_t>(features::opcode_number("gather"));
    const bool slow = std::find(kernel.opcodes.begin(), kernel.opcodes.end(), gather) != kernel.opcodes.end();
    return std::vector<double>(kernel.runtime_ns.size(), slow ? 1e6 : 1);
  }
};

// A gather of rows, which XLA compiles as it is unless it is expanded to a loop of more instructions.
constexpr char kGather[] = R"(HloModule gathers
ENTRY main {
  table = f32[100,32] parameter(0)
  rows = s32[40,1] parameter(1)
  ROOT r = f32[40,32] gather(table, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,32}
}
)";

struct Predicting {
  PassSession session{session_options()};
  std::string program = session.load(kDots, "dots");
  PassStatePtr initial = session.initial(program);
  int asked = 0;
  PredictedTimes times{session, std::make_unique<FixedModel>(true, asked)};
};

}  // namespace

TEST_CASE("a predicted run time is the sum over the kernels that XLA makes", "[rl][passes]") {
  Predicting t;
  const PredictedTime untouched = t.times.of(t.program, *t.initial, {});
  CHECK(untouched.error.empty());
  CHECK(untouched.ns == 200);  // XLA removes the third dot, and the two others are one kernel that occurs twice
  CHECK(t.asked == 1);
  const PassStep step = t.session.step(t.program, t.initial, {}, "dce");
  REQUIRE(step.changed);
  const PredictedTime cut = t.times.of(t.program, *step.state, {"dce"});
  CHECK(cut.ns == 200);
  CHECK(cut.kernels == untouched.kernels);
  CHECK(t.asked == 1);  // the kernel is known
}

TEST_CASE("no prediction where XLA compiles nothing, and none by a model that only ranks", "[rl][passes]") {
  Predicting t;
  const std::string aborts = t.session.load(kNotCompiled, "aborts");
  const PredictedTime failed = t.times.of(aborts, *t.session.initial(aborts), {});
  CHECK(failed.ns == 0);
  CHECK_FALSE(failed.error.empty());
  CHECK_THROWS_AS(PredictedTimes(t.session, std::make_unique<FixedModel>(false, t.asked)), Error);
  CHECK_THROWS_AS(OrderCandidates(t.session, t.program, OrderMetric::PredictedTime, 20), InternalError);
}

TEST_CASE("hone order minimises the predicted run time, not the instructions", "[rl][passes]") {
  PassSession session(session_options());
  const std::string program = session.load(kGather, "gathers");
  PredictedTimes times(session, std::make_unique<SlowGathers>());
  OrderOptions options;
  options.strategy = "random";
  options.passes = {"gather_expander", "dce"};
  options.max_applications = 60;
  options.length = 4;
  options.measure_ms = 10;
  options.guard = false;  // the loop is slower in truth
  options.metric = OrderMetric::PredictedTime;
  const OrderReport predicted = order_passes(session, program, options, nullptr, &times);
  CHECK(predicted.xla.predicted_ns >= 1e6);
  CHECK(predicted.found.predicted_ns < 1e6);
  CHECK(predicted.found.state->instructions > predicted.xla.state->instructions);
  CHECK(predicted.found.duel.verified);
  options.metric = OrderMetric::Operations;
  const OrderReport counted = order_passes(session, program, options);
  CHECK(counted.found.state->instructions <= counted.xla.state->instructions);
}

TEST_CASE("a prediction that took too long is tried again", "[rl][passes]") {
  PassSessionOptions options = session_options();
  options.kernels_limit_s = 8;
  PassSession session(options);
  const std::string program = session.load(kDots, "dots");
  int asked = 0;
  PredictedTimes times(session, std::make_unique<FixedModel>(true, asked));
  const PassStatePtr initial = session.initial(program);
  REQUIRE(kill(session.worker_pid(), SIGSTOP) == 0);
  const PredictedTime late = times.of(program, *initial, {});
  CHECK(late.ns == 0);
  CHECK(late.error.find("did not answer") != std::string::npos);
  CHECK(times.of(program, *initial, {}).ns == 200);
}

TEST_CASE("a prediction that took too long twice is not made again", "[rl][passes]") {
  PassSessionOptions options = session_options();
  options.kernels_limit_s = 0.5;
  PassSession session(options);
  const std::string program = session.load(kDots, "dots");
  int asked = 0;
  PredictedTimes times(session, std::make_unique<FixedModel>(true, asked));
  const PassStatePtr initial = session.initial(program);
  for (int attempt = 0; attempt < 2; ++attempt) {
    session.step(program, initial, {}, attempt == 0 ? "cse" : "algsimp");  // a worker runs again
    REQUIRE(session.worker_pid() > 0);
    REQUIRE(kill(session.worker_pid(), SIGSTOP) == 0);
    CHECK(times.of(program, *initial, {}).error.find("did not answer") != std::string::npos);
    CHECK(session.worker_pid() == -1);
  }
  CHECK(times.of(program, *initial, {}).error.find("did not answer") != std::string::npos);
  CHECK(session.worker_pid() == -1);  // nothing was asked
  CHECK(session.worker_restarts() == 1);
}

TEST_CASE("a known state needs no worker, also while it works for another thread", "[rl][passes]") {
  Predicting t;
  const PredictedTime known = t.times.of(t.program, *t.initial, {});
  const PassStep step = t.session.step(t.program, t.initial, {}, "dce");
  const int pid = t.session.worker_pid();
  REQUIRE(kill(pid, SIGSTOP) == 0);
  auto waits = std::async(std::launch::async, [&] { return t.times.of(t.program, *step.state, {"dce"}).ns; });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  auto answers = std::async(std::launch::async, [&] { return t.times.of(t.program, *t.initial, {}).ns; });
  const bool answered = answers.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  kill(pid, SIGCONT);
  CHECK(answered);
  CHECK(answers.get() == known.ns);
  CHECK(waits.get() == 200);
}

TEST_CASE("no more kernels are remembered than asked for", "[rl][passes]") {
  PassSession session(session_options());
  int asked = 0;
  PredictedTimes times(session, std::make_unique<FixedModel>(true, asked), 1);
  const std::string dots = session.load(kDots, "dots"), gathers = session.load(kGather, "gathers");
  CHECK(times.of(dots, *session.initial(dots), {}).ns == 200);
  CHECK(times.of(gathers, *session.initial(gathers), {}).ns >= 100);
  CHECK(times.kernels_known() == 1);
  const PassStep step = session.step(dots, session.initial(dots), {}, "dce");
  CHECK(times.of(dots, *step.state, {"dce"}).ns == 200);  // forgotten, so described and predicted again
  CHECK(asked >= 3);
}
