// Predicted run times of ordered programs, with a model whose predictions are known.
#include "passorder/predicted_time.h"

#include <catch2/catch.hpp>

#include "base/error.h"
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

TEST_CASE("hone order minimises the predicted run time", "[rl][passes]") {
  Predicting t;
  OrderOptions options;
  options.strategy = "random";
  options.metric = OrderMetric::PredictedTime;
  options.max_applications = 60;
  options.length = 4;
  options.measure_ms = 10;
  options.confirm_ms = 20;
  const OrderReport report = order_passes(t.session, t.program, options, nullptr, &t.times);
  CHECK(report.xla.predicted_ns == 200);
  CHECK(report.found.duel.verified);
  CHECK(t.asked >= 1);
}
