#include "tune/program/fusion_model.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "cost/ensemble.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/real_worker.h"
#include "tune/program/program_tuner.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

// Predicts the bytes that a kernel reads, which cost::EncodedOptions has; counts its calls.
class BytesModel : public cost::LearnedModel {
 public:
  explicit BytesModel(std::atomic<int>* asked = nullptr, bool runtime = true) : asked_(asked), runtime_(runtime) {}
  std::string name() const override { return "bytes"; }
  std::string task() const override { return "fusion"; }
  bool predicts_runtime() const override { return runtime_; }
  std::vector<double> predict(const KernelView& kernel) override {
    if (asked_) ++*asked_;
    return {static_cast<double>(kernel.static_features[1])};
  }

 private:
  std::atomic<int>* asked_;
  bool runtime_;
};

constexpr char kChain[] = R"(HloModule chain
ENTRY main {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  e = f32[64,64] exponential(a)
  t = f32[64,64] transpose(e), dimensions={1,0}
  d = f32[64,64] dot(t, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[64,64] sine(d)
  m = f32[64,64] multiply(s, a)
  ROOT r = f32[64,64] add(m, s)
})";

std::unique_ptr<Session> chain_session() {
  auto session = std::make_unique<Session>(with_worker());
  session->load(kChain, "chain.hlo");
  return session;
}

std::vector<Dimension> edges_of(const Lowered& lowered) {
  std::vector<Dimension> edges;
  for (const Dimension& d : lowered.dimensions)
    if (d.kind == DecisionKind::Fusion) edges.push_back(d);
  return edges;
}

// A module of one kernel for the encoder, and many edges: fused edges i cost what `costs` says, as copies of the kernel.
class ToyProgram {
 public:
  explicit ToyProgram(int edges) {
    for (int i = 0; i < edges; ++i)
      dimensions_.push_back({DecisionKind::Fusion, "p" + std::to_string(i) + ">c", {"keep", "fuse"}, 0, 0});
    static const Kernel readable = chain_session()->lower({}, false).kernels.at(0);  // a worker starts once
    kernel_ = readable;
    kernel_.bytes_read = 1;
  }
  // Each fused edge of even number saves two runs of the kernel, each of odd number costs one more.
  Lowered lower(const Decisions& decisions) const {
    Lowered l;
    l.kernels = {kernel_};
    l.kernels[0].runs = 100;
    for (const Decision& d : decisions) {
      if (d.kind != DecisionKind::Fusion) continue;
      l.kernels[0].runs += std::stoi(d.key.substr(1)) % 2 == 0 ? -2 : 1;
    }
    l.fingerprint = std::to_string(l.kernels[0].runs);
    return l;
  }
  FusionLane lane() const {
    return {[this](const Decisions& d) { return lower(d); }, [] { return 1e9; }};
  }
  const std::vector<Dimension>& edges() const { return dimensions_; }

 private:
  std::vector<Dimension> dimensions_;
  Kernel kernel_;
};

FusionSearchOptions short_search() {
  FusionSearchOptions options;
  options.budget_s = 30;
  options.max_configurations = 1200;
  options.chains = 2;
  return options;
}

}  // namespace

TEST_CASE("a model that only ranks cannot predict a program's run time", "[tune]") {
  CHECK_THROWS_AS(FusionModel(std::make_unique<BytesModel>(nullptr, false)), Error);
  FusionSearchOptions none;
  none.chains = 0;
  CHECK_THROWS_AS(none.validate(), Error);
  none = {};
  none.budget_s = 0;
  CHECK_THROWS_AS(none.validate(), Error);
}

TEST_CASE("a program costs the sum of its kernels, each predicted once", "[tune]") {
  if (no_worker()) return;
  std::atomic<int> asked = 0;
  FusionModel model(std::make_unique<BytesModel>(&asked), /*launch_ns=*/10);
  const Lowered lowered = chain_session()->lower_kernels({});
  REQUIRE(lowered.kernels.size() >= 2);
  double expected = 0;
  for (const Kernel& k : lowered.kernels) expected += k.runs * (k.bytes_read + 10);
  CHECK(model.program_ns(lowered) == Approx(expected));
  CHECK(asked == static_cast<int>(lowered.kernels.size()));
  CHECK(model.program_ns(lowered) == Approx(expected));
  CHECK(asked == static_cast<int>(lowered.kernels.size()));
  Lowered unreadable = lowered;
  unreadable.kernels[0].fingerprint = "new";
  unreadable.kernels[0].module.clear();
  CHECK(std::isinf(model.program_ns(unreadable)));
}

TEST_CASE("annealing by the model finds the configuration predicted fastest", "[tune]") {
  if (no_worker()) return;
  const ToyProgram toy(12);
  FusionModel model(std::make_unique<BytesModel>());
  const int lanes = GENERATE(1, 3);
  const std::vector<FusionLane> all(lanes, toy.lane());
  const FusionSearchReport report = search_fusion(all, {}, toy.edges(), model, short_search());
  CHECK(report.own_ns == Approx(100));
  CHECK(report.start_ns == Approx(100));
  REQUIRE_FALSE(report.best.empty());
  CHECK(report.best[0].predicted_ns == Approx(88));  // six edges of even number
  CHECK(report.best[0].decisions.size() == 6);
  CHECK(report.best.size() == 6);
  for (size_t i = 1; i < report.best.size(); ++i)
    CHECK(report.best[i].predicted_ns > report.best[i - 1].predicted_ns);  // distinct programs
  CHECK(report.configurations <= 1200 + lanes);
  CHECK(report.kernels == 1);
  CHECK(report.failed == 0);
}

TEST_CASE("a search by the model begins at the given start and skips configurations that XLA refuses", "[tune]") {
  if (no_worker()) return;
  const ToyProgram toy(8);
  FusionModel model(std::make_unique<BytesModel>());
  FusionSearchOptions options = short_search();
  options.start = {{DecisionKind::Fusion, "p1>c", "fuse"}, {DecisionKind::Fusion, "p3>c", "fuse"}};
  const FusionLane lane{[&](const Decisions& d) {
                          if (d.size() == 3) throw RunError("refused");
                          return toy.lower(d);
                        },
                        [] { return 1e9; }};
  const FusionSearchReport report = search_fusion({lane}, {}, toy.edges(), model, options);
  CHECK(report.start_ns == Approx(102));
  REQUIRE_FALSE(report.best.empty());
  CHECK(report.best[0].predicted_ns == Approx(92));
  CHECK(report.failed > 0);
}

TEST_CASE("the best of chains with diverse starts is returned even if it is predicted slower", "[tune]") {
  if (no_worker()) return;
  const ToyProgram toy(16);
  FusionModel model(std::make_unique<BytesModel>());
  const int level = GENERATE(105, 140);
  const FusionLane lane{[&](const Decisions& d) {
                          if (d.size() > 1 && d.size() < 10) throw RunError("nothing leads from here to there");
                          const bool first = d.size() == 1 && d[0].key == "p0>c";
                          Lowered l = toy.lower({});
                          l.kernels[0].runs = d.size() < 2 ? (first ? 98 : 100) : level + static_cast<int>(d.size());
                          l.fingerprint = std::to_string(l.kernels[0].runs);
                          return l;
                        },
                        [] { return 1e9; }};
  FusionSearchOptions options = short_search();
  Decisions all;
  for (const Dimension& edge : toy.edges()) all.push_back({DecisionKind::Fusion, edge.key, "fuse"});
  options.diverse_starts = {all};
  const FusionSearchReport report = search_fusion({lane}, {}, toy.edges(), model, options);
  REQUIRE(report.best.size() == 1);
  CHECK(report.best[0].predicted_ns == Approx(98));
  const bool near_enough = level < 100 * (1 + kModelError);
  REQUIRE(report.from_diverse_starts.size() == (near_enough ? 1 : 0));
  REQUIRE(report.finalists().size() == (near_enough ? 2 : 1));
  CHECK(report.finalists()[0].decisions == report.best[0].decisions);
  if (!near_enough) return;
  CHECK(report.from_diverse_starts[0].predicted_ns == Approx(115));
  CHECK(report.finalists()[1].decisions.size() == 10);
}

TEST_CASE("a search that cannot begin or has no time finds nothing", "[tune]") {
  if (no_worker()) return;
  const ToyProgram toy(4);
  FusionModel model(std::make_unique<BytesModel>());
  CHECK(search_fusion({toy.lane()}, {}, {}, model, short_search()).configurations == 0);
  const FusionLane broken{[](const Decisions&) -> Lowered { throw RunError("no"); }, [] { return 1e9; }};
  const FusionSearchReport refused = search_fusion({broken}, {}, toy.edges(), model, short_search());
  CHECK(refused.best.empty());
  CHECK(refused.failed == 1);
  const FusionLane late{[&](const Decisions& d) { return toy.lower(d); }, [] { return 0.0; }};
  CHECK(search_fusion({late}, {}, toy.edges(), model, short_search()).configurations <= 2);
}

TEST_CASE("the end of the time keeps the results so far", "[tune]") {
  if (no_worker()) return;
  const ToyProgram toy(12);
  FusionModel model(std::make_unique<BytesModel>());
  int asked = 0;
  const FusionLane lane{[&](const Decisions& d) {
                          if (++asked > 60) throw Stopped();
                          return toy.lower(d);
                        },
                        [] { return 1e9; }};
  const FusionSearchReport report = search_fusion({lane}, {}, toy.edges(), model, short_search());
  CHECK(report.configurations == 60);
  CHECK_FALSE(report.best.empty());
}

TEST_CASE("the model's results are measured, and only faster ones are kept", "[tune]") {
  if (no_worker()) return;
  const ToyProgram toy(6);
  FusionModel model(std::make_unique<BytesModel>());
  const bool model_is_right = GENERATE(true, false);
  FakeMeasurer measurer;
  measurer.each_s = 0.5;
  measurer.left_s = 60;
  measurer.lowering = [&](const Decisions& d, bool want_fusion) {
    Lowered l = toy.lower(d);
    l.kernels.clear();
    if (want_fusion) l.dimensions = toy.edges();
    return l;
  };
  measurer.speed = [&](const Decisions& d) {
    double speed = 1;
    for (const Decision& one : d) {
      const bool even = std::stoi(one.key.substr(1)) % 2 == 0;
      speed *= even == model_is_right ? 1.05 : 0.9;
    }
    return speed;
  };
  TuneOptions options;
  options.budget_s = 60;
  options.fusion_plan.model = &model;
  options.fusion_plan.lanes = {toy.lane()};
  options.fusion_plan.budget_s = 0.5;
  options.fusion_plan.only = true;
  const ProgramResult result = tune_program(measurer, options);
  REQUIRE(result.fusion.has_value());
  CHECK(result.fusion->best.at(0).predicted_ns == Approx(94));
  CHECK(result.measurement.ratio == Approx(std::pow(1.05, 3)));  // by annealing where the model is wrong
  CHECK(result.decisions.size() == 3);
  const auto predicted = std::find_if(result.steps.begin(), result.steps.end(),
                                      [](const Step& s) { return s.what.rfind("fusion predicted", 0) == 0; });
  REQUIRE(predicted != result.steps.end());
  CHECK(predicted->kept == model_is_right);
}

TEST_CASE("a lowering that takes all that was left ends the search, not the tune", "[tune]") {
  FusionModel model(std::make_unique<BytesModel>());
  FakeMeasurer measurer;
  measurer.left_s = 60;
  measurer.lowering = [&](auto&, bool want_fusion) {
    Lowered l;
    if (want_fusion) {
      l.dimensions = {{DecisionKind::Fusion, "p0>c", {"keep", "fuse"}, 0, 0}};
      measurer.left_s = 0;
    }
    return l;
  };
  TuneOptions options;
  options.budget_s = 60;
  options.fusion_plan.model = &model;
  options.fusion_plan.lanes = {{[](auto&) { return Lowered{}; }, [] { return 0.0; }}};
  const ProgramResult result = tune_program(measurer, options);
  CHECK(result.stopped);
  CHECK(result.decisions.empty());
  CHECK(result.measurement.ratio == 1);
}

TEST_CASE("the analytical model scores fusions of a real program", "[tune]") {
  if (no_worker()) return;
  auto session = chain_session();
  const std::vector<Dimension> edges = edges_of(session->lower({}, true));
  REQUIRE_FALSE(edges.empty());
  const auto model = open_fusion_model("analytical", features::this_cpu(1));
  FusionSearchOptions options = short_search();
  options.max_configurations = 12;
  options.chains = 1;
  const FusionLane lane{[&](const Decisions& d) { return session->lower_kernels(d); }, [] { return 1e9; }};
  const FusionSearchReport report = search_fusion({lane}, {}, edges, *model, options);
  CHECK(report.own_ns > 0);
  CHECK(report.failed == 0);
  CHECK(report.configurations > 1);
  CHECK(report.kernels >= report.programs - 1);
}

TEST_CASE("decisions are split by the dimensions of a space", "[tune]") {
  const Space space{{{DecisionKind::Fusion, "a>b", {"keep", "fuse"}, 0, 0}}};
  const Decisions all = {{DecisionKind::Fusion, "a>b", "fuse"}, {DecisionKind::Option, "a>b", "on"}};
  CHECK(outside(all, space) == Decisions{all[1]});
  CHECK(within(all, space) == Decisions{all[0]});
  CHECK(of_kind(all, DecisionKind::Fusion) == Decisions{all[0]});
}

}  // namespace hone::tune
