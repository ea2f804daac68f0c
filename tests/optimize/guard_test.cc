// The duel that decides whether what a model chose stays (optimize.h).
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "graph/decision_family.h"
#include "optimize/optimize.h"
#include "tests/optimize/known_gains.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/table_ranker.h"

namespace hone::optimize {

namespace {

const Decision kLoopToTile{DecisionKind::Codegen, "sure", "tile=8"};
const Decision kReduction{DecisionKind::Library, "reduce:add:f32[8,4]->f32[8]:1", "ynn"};
const Decision kSort{DecisionKind::Rewrite, "sort:f32[8]", "highway"};

// A kernel, a reduction and a sort, each of which has another form that is known to pay.
// `unmatched`: decisions that are about nothing beside the kernel's.
OptimizeReport guarded(tune::FakeMeasurer& measurer, double guard_s, const Decisions& unmatched = {}) {
  measurer.lowering = [unmatched](const Decisions& decisions, bool) {
    Lowered l;
    if (has(decisions, kLoopToTile)) l.unmatched = unmatched;
    l.kernels = {tune::a_kernel("sure", {"default", "loop", "tile=8"})};
    l.dimensions = {{kReduction.kind, kReduction.key, {"compiled", "ynn"}, 0, 0},
                    {kSort.kind, kSort.key, {"default", "highway"}, 0, 0}};
    l.instructions = static_cast<int64_t>(decisions.size());
    return l;
  };
  OptimizeOptions options;
  options.guard_s = guard_s;
  // Each form halves the time; that of the sort gains less than that of the reduction does, and so comes last.
  options.predict = [](const Lowered& l) { return PredictedRun{std::pow(0.5, static_cast<double>(l.instructions))}; };
  for (const char* transition : {"reduction ynn", "sort highway"})
    options.form_gains.by_transition[transition] = {
        .from = 0.5, .gain = 0.4, .low = 0.1, .kernels = 20, .programs = 9, .seen = 30};
  tune::TableRanker ranker({{"sure default", 3}, {"sure loop", 2.5}, {"sure tile=8", 1}});
  return optimize_program(measurer, ranker, gains_from_one(), options);
}

// Speed as each decision multiplies it.
std::function<double(const Decisions&)> product(double kernel, double reduction, double sort) {
  return [=](const Decisions& decisions) {
    double speed = 1;
    if (has(decisions, kLoopToTile)) speed *= kernel;
    if (has(decisions, kReduction)) speed *= reduction;
    if (has(decisions, kSort)) speed *= sort;
    return speed;
  };
}

OptimizedKernel form_of(const OptimizeReport& report, const Decision& decision) {
  const auto form = std::find_if(report.forms.begin(), report.forms.end(),
                                 [&](const OptimizedKernel& f) { return f.key == decision.key; });
  REQUIRE(form != report.forms.end());
  return *form;
}

}  // namespace

TEST_CASE("choices that nothing is about beside the others are no decisions of the package", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.speed = product(1.1, 1.2, 1.3);
  const OptimizeReport report = guarded(measurer, 1, {kReduction});
  CHECK(report.decisions == Decisions{kLoopToTile, kSort});
  CHECK(report.guarded);
  const OptimizedKernel reduction = form_of(report, kReduction);
  CHECK_FALSE(reduction.applied);
  CHECK(reduction.chosen == "compiled");
  CHECK(reduction.note.find("nothing in the program") != std::string::npos);
}

TEST_CASE("choices that win their duel stay, with what it measured", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.speed = product(1.1, 1.2, 1.3);
  const OptimizeReport report = guarded(measurer, 1);
  CHECK(report.decisions.size() == 3);
  CHECK(report.guarded);
  CHECK(report.verified);
  CHECK(report.check.ratio == Approx(1.1 * 1.2 * 1.3));
  CHECK(measurer.program_calls.size() == 1);
  CHECK(measurer.rounds.front() > 1);
}

TEST_CASE("of choices that lose their duel, forms are given up one kind after the other, then kernels", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.speed = product(1.1, 1.2, 0.5);
  const OptimizeReport without_sort = guarded(measurer, 1);
  CHECK(without_sort.decisions.size() == 2);
  CHECK_FALSE(has(without_sort.decisions, kSort));
  CHECK(without_sort.guarded);
  CHECK(without_sort.check.ratio == Approx(1.1 * 1.2));
  const OptimizedKernel dropped = form_of(without_sort, kSort);
  CHECK_FALSE(dropped.applied);
  CHECK(dropped.chosen == "default");
  CHECK(dropped.note.find("0.660") != std::string::npos);

  measurer.speed = product(1.1, 0.8, 0.5);
  CHECK(guarded(measurer, 1).decisions == Decisions{kLoopToTile});

  measurer.speed = product(0.9, 0.8, 0.5);
  const OptimizeReport none = guarded(measurer, 1);
  CHECK(none.decisions.empty());
  CHECK_FALSE(none.guarded);  // it is default XLA
  CHECK(none.verified);
}

TEST_CASE("without a guard the program is run once and nothing depends on its time", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.speed = product(0.9, 0.8, 0.5);
  const OptimizeReport report = guarded(measurer, 0);
  CHECK(report.decisions.size() == 3);
  CHECK_FALSE(report.guarded);
  CHECK(measurer.rounds == std::vector<int>{1});
}

TEST_CASE("choices that lose are not run on other inputs, those that stay are", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.speed = product(1.1, 1.2, 0.5);
  std::vector<size_t> verified;
  measurer.on_inputs = [&](const Decisions& decisions, InputKind) {
    verified.push_back(decisions.size());
    return tune::Outcome::Ok;
  };
  guarded(measurer, 1);
  REQUIRE_FALSE(verified.empty());
  CHECK(std::all_of(verified.begin(), verified.end(), [](size_t n) { return n == 2; }));
}

TEST_CASE("the time of a guard has bounds", "[tune]") {
  OptimizeOptions options;
  options.guard_s = -1;
  CHECK_THROWS_AS(options.validate(), Error);
  options.guard_s = 0;
  CHECK_NOTHROW(options.validate());
}

TEST_CASE("a small gain must be there in a second process", "[tune]") {
  tune::FakeMeasurer measurer;
  const auto kernel_gains = [&](double first, double second) {
    measurer.processes = 1;
    measurer.speed = [&measurer, first, second](const Decisions& decisions) {
      return has(decisions, kLoopToTile) ? measurer.processes == 1 ? first : second : 1;
    };
    return guarded(measurer, 1);
  };
  const OptimizeReport kept = kernel_gains(1.04, 1.02);
  CHECK(has(kept.decisions, kLoopToTile));
  CHECK(kept.check.ratio == Approx(1.02));  // the first was not known before it was chosen
  CHECK(kept.guarded);
  CHECK(kernel_gains(1.04, 0.97).decisions.empty());
  CHECK(kernel_gains(1.04, 1.005).decisions.empty());
  CHECK(has(kernel_gains(1.06, 0.97).decisions, kLoopToTile));  // no second process
  CHECK(measurer.processes == 1);
}

}  // namespace hone::optimize
