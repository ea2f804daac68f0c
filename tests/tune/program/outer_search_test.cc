#include "tune/program/outer_search.h"

#include <catch2/catch.hpp>

#include "graph/layout_choice.h"
#include "passorder/pass_session.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/real_worker.h"
#include "tune/program/program_tuner.h"
#include "tune/session/decision_list.h"

namespace hone::tune {
namespace {

const Decision kGood{DecisionKind::Passes, kPassOrderKey, "cse,dce"}, kEven{DecisionKind::Passes, kPassOrderKey, "dce"},
    kLayout{DecisionKind::Layout, "dot.1", "-/0,1/-"};

bool has(const Decisions& decisions, const Decision& one) {
  return std::find(decisions.begin(), decisions.end(), one) != decisions.end();
}

// Under the good order another kernel appears, whose loop gains; under the even one a kernel that gains more.
FakeMeasurer ordered_measurer() {
  FakeMeasurer measurer;
  measurer.lowering = [](const Decisions& decisions, bool) {
    Lowered l;
    l.fingerprint = "plain";
    l.kernels = {a_kernel("plain", {"default", "loop"}, 0, 0.5)};
    for (const Decision& d : decisions)
      if (d.kind == DecisionKind::Passes || d.kind == DecisionKind::Layout) l.fingerprint += d.value;
    if (has(decisions, kGood)) l.kernels = {a_kernel("good", {"default", "loop"}, 0, 0.5)};
    l.dimensions = {{DecisionKind::Option, "vector_width", {"default", "512"}, 0, 0}};
    return l;
  };
  measurer.kernel = [](const Kernel& k, auto&) { return measured(k.fingerprint == "good" ? 1.4 : 1); };
  measurer.speed = [](const Decisions& d) {
    double speed = has(d, kGood) ? 1.1 : 1;
    if (has(d, kLayout)) speed *= has(d, kGood) ? 1.05 : 0.8;
    for (const Decision& x : d) {
      if (x.key == "good" && x.value == "loop") speed *= 1.2;
      if (x.value == "512") speed *= 1.03;
    }
    return speed;
  };
  return measurer;
}

TuneOptions proposing(std::vector<Alternative> passes, std::vector<Alternative> layouts) {
  TuneOptions options;
  options.budget_s = 600;
  options.outer.passes = [=] { return passes; };
  options.outer.layouts = [=](const Decisions&) { return layouts; };
  return options;
}

constexpr char kProgram[] = R"(HloModule twice
ENTRY main {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  t = f32[64,64] transpose(b), dimensions={1,0}
  u = f32[64,64] transpose(b), dimensions={1,0}
  x = f32[64,64] dot(a, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[64,64] dot(a, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,64] exponential(y)
  ROOT r = f32[64,64] add(x, e)
}
)";

}  // namespace

TEST_CASE("one run decides passes, layouts, kernels and options, in one list", "[tune]") {
  FakeMeasurer measurer = ordered_measurer();
  const ProgramResult result = tune_program(
      measurer, proposing({{"1 passes first", {kEven}}, {"2 passes first", {kGood}}}, {{"1 layouts", {kLayout}}}));
  CHECK(result.decisions ==
        Decisions{
            {DecisionKind::Codegen, "good", "loop"}, {DecisionKind::Option, "vector_width", "512"}, kLayout, kGood});
  CHECK(result.measurement.ratio == Approx(1.1 * 1.05 * 1.2 * 1.03));
  CHECK(measurer.confirming);
}

TEST_CASE("an order that gains only with the results of the inner search is tried again", "[tune]") {
  FakeMeasurer measurer = ordered_measurer();
  measurer.speed = [](const Decisions& d) {
    const bool wide = std::any_of(d.begin(), d.end(), [](const Decision& x) { return x.value == "512"; });
    return (wide ? 1.1 : 1) * (has(d, kEven) ? (wide ? 1.1 : 0.99) : 1);
  };
  const ProgramResult result = tune_program(measurer, proposing({{"1 passes first", {kEven}}}, {}));
  CHECK(has(result.decisions, kEven));
  CHECK(result.measurement.ratio == Approx(1.21));
}

TEST_CASE("orders that change nothing, lose or fail leave the rest of the search as it was", "[tune]") {
  FakeMeasurer measurer = ordered_measurer();
  measurer.outcome = [](const Decisions& d) { return has(d, kGood) ? Outcome::Mismatch : Outcome::Ok; };
  const Decision same{DecisionKind::Passes, kPassOrderKey, ""};  // lowers to the untouched program
  const ProgramResult result = tune_program(
      measurer, proposing({{"0 passes first", {same}}, {"2 passes first", {kGood}}}, {{"1 layouts", {kLayout}}}));
  CHECK(result.decisions == Decisions{{DecisionKind::Option, "vector_width", "512"}});
  for (const std::string& call : measurer.program_calls) CHECK(call != to_text({same}));
}

TEST_CASE("only the chosen kinds are decided", "[tune]") {
  FakeMeasurer measurer = ordered_measurer();
  TuneOptions options = proposing({{"2 passes first", {kGood}}}, {{"1 layouts", {kLayout}}});
  options.decide = {DecisionKind::Passes};
  const ProgramResult result = tune_program(measurer, options);
  CHECK(result.decisions == Decisions{kGood});
  CHECK(measurer.kernel_calls.empty());
  FakeMeasurer other = ordered_measurer();
  options.decide = {DecisionKind::Option, DecisionKind::Codegen};
  CHECK(tune_program(other, options).decisions == Decisions{{DecisionKind::Option, "vector_width", "512"}});
}

TEST_CASE("layouts are proposed by a ranker, or one instruction at a time", "[tune]") {
  LayoutSpace layouts;
  for (const char* key : {"large", "small"})
    layouts.space.dimensions.push_back({DecisionKind::Layout, key, {"default", "-/0,1/-", "-/-/0,1"}, 0, 1});
  layouts.space.dimensions[0].weight = 10;
  const auto plain = propose_layouts(layouts, {}, 0, 3, 0);
  REQUIRE(plain.size() == 3);
  for (size_t i = 0; i + 1 < plain.size(); ++i) CHECK(plain[i].decisions.size() <= plain[i + 1].decisions.size());
  const Choice best = {2, 1};
  const LayoutRanker likes = [&](const LayoutSpace&, std::span<const Choice> choices) {
    std::vector<double> scores;
    for (const Choice& c : choices) scores.push_back(c == best ? 0 : 1);
    return scores;
  };
  const auto ranked = propose_layouts(layouts, likes, 100, 2, 0);
  REQUIRE(ranked.size() == 2);
  CHECK(ranked[0].decisions == layouts.space.decisions(best));
  CHECK(propose_layouts({}, likes, 100, 2, 0).empty());
}

TEST_CASE("a search for proposals begins with the given orders", "[tune]") {
  if (no_worker()) return;
  passorder::PassSessionOptions pass_options;
  pass_options.worker = with_worker().worker;
  passorder::PassSession passes(pass_options);
  PassProposals proposals{.budget_s = 60, .max_applications = 2};  // one pass for each metric
  const auto names_it = [&] {
    const auto proposed = propose_passes(passes, kProgram, "twice.hlo", nullptr, proposals);
    return std::any_of(proposed.begin(), proposed.end(),
                       [](const Alternative& one) { return one.decisions[0].value == "transpose-folding"; });
  };
  CHECK_FALSE(names_it());
  proposals.first_orders = {{"transpose-folding"}};
  CHECK(names_it());
}

TEST_CASE("orders of a real program's passes are proposed, lower, and combine with layouts", "[tune]") {
  if (no_worker()) return;
  passorder::PassSessionOptions pass_options;
  pass_options.worker = with_worker().worker;
  passorder::PassSession passes(pass_options);
  const auto proposed = propose_passes(passes, kProgram, "twice.hlo", nullptr, {.budget_s = 2, .max_applications = 60});
  REQUIRE_FALSE(proposed.empty());
  CHECK(proposed[0].decisions[0].value == "simplification");
  Session session(with_worker());
  session.load(kProgram, "twice.hlo");
  const LayoutSpace space = layout_space_from(session.list_layouts(proposed.back().decisions));
  REQUIRE_FALSE(space.space.dimensions.empty());
  Choice choice = space.space.default_choice();
  choice[0] = 1;
  const Decisions all = merged(proposed.back().decisions, space.space.decisions(choice));
  const Measurement m = session.measure_program(all, {}, {.min_rounds = 1, .max_rounds = 2, .budget_ms = 10});
  CHECK(m.ok());
}

}  // namespace hone::tune
