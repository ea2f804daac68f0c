#include "tune/program/measured_fusion.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "base/error.h"
#include "tests/tune/real_worker.h"

namespace hone::tune {

namespace {

class BytesModel : public cost::LearnedModel {
 public:
  std::string name() const override { return "bytes"; }
  std::string task() const override { return "fusion"; }
  bool predicts_runtime() const override { return true; }
  std::vector<double> predict(const KernelView& kernel) override {
    return {static_cast<double>(kernel.static_features[1])};
  }
};

constexpr char kOne[] = R"(HloModule one
ENTRY main {
  a = f32[64] parameter(0)
  ROOT e = f32[64] exponential(a)
})";

// Fusing edge i puts the kernel "fused i" in the place of "apart i". All are predicted to gain; those of even number do.
class Program {
 public:
  static constexpr int kEdges = 8;

  Program() {
    Session session(with_worker());
    session.load(kOne, "one.hlo");
    kernel_ = session.lower_kernels({}).kernels.at(0);
  }
  Lowered lower(const Decisions& decisions) const {
    std::set<int> fused;
    for (const Decision& d : decisions)
      if (d.value == "fuse") fused.insert(std::stoi(d.key.substr(1)));
    Lowered lowered;
    for (int i = 0; i < kEdges; ++i) {
      lowered.kernels.push_back(kernel_);
      lowered.kernels.back().fingerprint = (fused.contains(i) ? "fused " : "apart ") + std::to_string(i);
      lowered.kernels.back().bytes_read = fused.contains(i) ? 50 : 100;
      lowered.kernels.back().runs = 1;
      lowered.fingerprint += fused.contains(i) ? 'f' : 'a';
    }
    lowered.kernels.push_back(kernel_);
    lowered.kernels.back().fingerprint = "shared";
    lowered.kernels.back().bytes_read = 1000;
    return lowered;
  }
  static double real_ns(const std::string& fingerprint) {
    const int edge = fingerprint.back() - '0';
    return fingerprint.starts_with("apart") ? 100 : edge % 2 == 0 ? 40 : 200;
  }
  std::vector<FusionLane> lanes() const {
    return {{[this](const Decisions& d) { return lower(d); }, [] { return 1e9; }}};
  }
  static std::vector<Dimension> edges() {
    std::vector<Dimension> edges;
    for (int i = 0; i < kEdges; ++i)
      edges.push_back({DecisionKind::Fusion, "p" + std::to_string(i) + ">c", {"keep", "fuse"}, 0, 0});
    return edges;
  }

 private:
  Kernel kernel_;
};

MeasuredFusionOptions options_with(std::function<std::optional<double>(const Kernel&)> measure) {
  MeasuredFusionOptions options;
  options.search.budget_s = 3;
  options.search.chains = 1;
  options.search.max_configurations = 400;
  options.most_kernels = 1000;
  options.measure = std::move(measure);
  return options;
}

bool even_edges_alone(const Decisions& decisions) {
  return decisions.size() == Program::kEdges / 2 &&
         std::all_of(decisions.begin(), decisions.end(), [](const Decision& d) { return (d.key[1] - '0') % 2 == 0; });
}

}  // namespace

TEST_CASE("measured kernels turn a search over fusion away from what is predicted too fast", "[tune]") {
  if (no_worker()) return;
  const Program program;
  FusionModel alone(std::make_unique<BytesModel>()), told(std::make_unique<BytesModel>());
  std::multiset<std::string> measured;
  const MeasuredFusionOptions options = options_with([&](const Kernel& kernel) {
    measured.insert(kernel.fingerprint);
    return std::optional(Program::real_ns(kernel.fingerprint));
  });
  const auto by_predictions = search_fusion(program.lanes(), {}, Program::edges(), alone, options.search);
  CHECK(by_predictions.best.at(0).decisions.size() == Program::kEdges);
  CHECK(by_predictions.measured == 0);

  const auto report = search_measured_fusion(program.lanes(), {}, Program::edges(), told, options);
  CHECK(even_edges_alone(report.best.at(0).decisions));
  CHECK(report.measured == static_cast<int64_t>(measured.size()));
  CHECK(measured.size() == 2 * Program::kEdges);
  CHECK(std::set(measured.begin(), measured.end()).size() == measured.size());  // each once
  CHECK_FALSE(measured.contains("shared"));                                     // all configurations have it
  // 4 x 40 + 4 x 100, and the kernel that all share, whose prediction is corrected by what the others were off in the middle.
  CHECK(report.best[0].predicted_ns < report.start_ns);
  CHECK(report.start_ns - report.best[0].predicted_ns == Approx(4 * 60));

  const size_t before = measured.size();
  const auto again = search_measured_fusion(program.lanes(), {}, Program::edges(), told, options);
  CHECK(even_edges_alone(again.best.at(0).decisions));
  CHECK(again.measured == 0);  // the model was told before
  CHECK(measured.size() == before);
}

TEST_CASE("a kernel that does not run by itself keeps its prediction", "[tune]") {
  if (no_worker()) return;
  const Program program;
  FusionModel model(std::make_unique<BytesModel>());
  const MeasuredFusionOptions options = options_with([](const Kernel&) { return std::optional<double>(); });
  const auto report = search_measured_fusion(program.lanes(), {}, Program::edges(), model, options);
  CHECK(report.best.at(0).decisions.size() == Program::kEdges);
  CHECK(report.best[0].predicted_ns == Approx(8 * 50 + 1000));
  CHECK(report.measured == 2 * Program::kEdges);  // tried once each
}

TEST_CASE("a search by measured kernels that cannot begin or has no time ends", "[tune]") {
  if (no_worker()) return;
  const Program program;
  FusionModel model(std::make_unique<BytesModel>());
  const MeasuredFusionOptions options = options_with([](const Kernel&) -> std::optional<double> { throw Stopped(); });
  CHECK(search_measured_fusion(program.lanes(), {}, {}, model, options).configurations == 0);
  const FusionLane refused{[](const Decisions&) -> Lowered { throw RunError("no"); }, [] { return 1e9; }};
  CHECK(search_measured_fusion({refused}, {}, Program::edges(), model, options).best.empty());
  const FusionLane late{[&](const Decisions& d) { return program.lower(d); }, [] { return 0.0; }};
  CHECK(search_measured_fusion({late}, {}, Program::edges(), model, options).measured == 0);
}

TEST_CASE("no more kernels are measured than may be", "[tune]") {
  if (no_worker()) return;
  const Program program;
  FusionModel model(std::make_unique<BytesModel>());
  int measured = 0;
  MeasuredFusionOptions options = options_with([&](const Kernel& kernel) {
    ++measured;
    return std::optional(Program::real_ns(kernel.fingerprint));
  });
  options.most_kernels = 0;
  CHECK(search_measured_fusion(program.lanes(), {}, Program::edges(), model, options).measured == 0);
  CHECK(measured == 0);
  options.most_kernels = 6;
  CHECK(search_measured_fusion(program.lanes(), {}, Program::edges(), model, options).measured == 6);
  CHECK(measured == 6);
}

TEST_CASE("a model is told of kernels that it was asked about", "[tune]") {
  if (no_worker()) return;
  const Program program;
  FusionModel model(std::make_unique<BytesModel>());
  const Lowered lowered = program.lower({});
  const double predicted = model.program_ns(lowered);
  CHECK_THROWS_AS(model.tell("unknown", 1), InternalError);
  CHECK_THROWS_AS(model.known_ns("unknown"), InternalError);
  for (int i = 0; i < 4; ++i) model.tell("apart " + std::to_string(i), 300);
  CHECK(model.program_ns(lowered) == Approx(predicted + 4 * 200));  // too few to say how far off the others are
  model.tell("apart 4", 300);
  CHECK(model.known_ns("apart 4") == 300);
  CHECK(model.known_ns("apart 5") == Approx(300));  // three times what is predicted, as the others
  CHECK(model.known_ns("shared") == Approx(3000));
}

}  // namespace hone::tune
