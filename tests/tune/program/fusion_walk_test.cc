#include "tune/program/fusion_walk.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/real_worker.h"

namespace hone::tune {
namespace {

constexpr char kOne[] = "HloModule one\nENTRY e {\n  a = f32[64] parameter(0)\n  ROOT s = f32[64] sine(a)\n}\n";
constexpr int kEdges = 24;  // those of even number change the program, the others nothing

class CountModel : public cost::LearnedModel {
 public:
  std::string name() const override { return "count"; }
  std::string task() const override { return "fusion"; }
  bool predicts_runtime() const override { return true; }
  std::vector<double> predict(const KernelView&) override { return {1}; }
};

std::vector<Dimension> some_edges() {
  std::vector<Dimension> edges;
  for (int i = 0; i < kEdges; ++i)
    edges.push_back({DecisionKind::Fusion, "p" + std::to_string(i) + ">c", {"keep", "fuse"}, 0, 0});
  return edges;
}

int number_of(const Decision& d) { return std::stoi(d.key.substr(1)); }

// The edges that change the program.
std::set<int> changed(const Decisions& decisions) {
  std::set<int> edges;
  for (const Decision& d : decisions)
    if (number_of(d) % 2 == 0) edges.insert(number_of(d));
  return edges;
}

bool gains(int edge) { return edge % 4 == 0; }

// Each edge that gains makes the program 5 % faster, the other ones 10 % slower.
double speed_of(const Decisions& decisions) {
  double speed = 1;
  for (int edge : changed(decisions)) speed *= gains(edge) ? 1.05 : 0.9;
  return speed;
}

struct Toy {
  Kernel kernel;
  bool model_is_right = true;
  int measured = 0, most = 40;
  std::set<std::set<int>> programs;

  FusionLane lane() {
    return {[this](const Decisions& d) {
              Lowered l;
              l.kernels = {kernel};
              l.kernels[0].count = 1000;
              for (int edge : changed(d)) {
                l.kernels[0].count += gains(edge) == model_is_right ? -50 : 100;
                l.fingerprint += std::to_string(edge) + ",";
              }
              return l;
            },
            [] { return 1e9; }};
  }
  FusionWalkOptions options() {
    FusionWalkOptions o;
    o.progress = [this] { return static_cast<double>(measured) / most; };
    o.measure = [this](const Decisions& d) {
      ++measured;
      CHECK(programs.insert(changed(d)).second);  // no program twice
      CHECK_FALSE(changed(d).empty());            // nor the one it began with
      return tune::measured(speed_of(d));
    };
    return o;
  }
};

bool make_kernel(Toy& toy) {
  if (no_worker()) return false;
  Session session(with_worker());
  session.load(kOne, "one.hlo");
  toy.kernel = session.lower({}, false).kernels.at(0);
  return true;
}

}  // namespace

TEST_CASE("a walk measures what the model proposes, and no program twice", "[tune]") {
  Toy toy;
  if (!make_kernel(toy)) return;
  toy.model_is_right = GENERATE(true, false);
  FusionModel model(std::make_unique<CountModel>());
  const auto found = walk_fusion(toy.lane(), model, {}, some_edges(), {}, 3, toy.options());
  REQUIRE(found.size() == 3);
  CHECK(toy.measured == toy.most);
  CHECK(found[0].ratio >= found[1].ratio);
  CHECK(found[0].ratio == Approx(speed_of(found[0].decisions)));
  if (toy.model_is_right)
    CHECK(found[0].ratio == Approx(std::pow(1.05, 6)));  // all six gains
  else
    CHECK(found[0].ratio >= 1.05);  // by exploration
}

TEST_CASE("a walk ends when no program is left, and skips those that fail", "[tune]") {
  Toy toy;
  if (!make_kernel(toy)) return;
  toy.most = 1000000;
  FusionModel model(std::make_unique<CountModel>());
  std::vector<Dimension> few = some_edges();
  few.resize(4);  // three programs but the first
  FusionWalkOptions options = toy.options();
  const auto measure = options.measure;
  options.measure = [&](const Decisions& d) {
    const Measurement m = measure(d);
    return changed(d).contains(2) ? failed(Outcome::Crashed) : m;
  };
  const auto found = walk_fusion(toy.lane(), model, {}, few, {}, 3, options);
  CHECK(toy.measured == 3);
  REQUIRE(found.size() == 1);
  CHECK(changed(found[0].decisions) == std::set<int>{0});
  CHECK(walk_fusion(toy.lane(), model, {}, {}, {}, 3, options).empty());
  const FusionLane refusing{[](const Decisions&) -> Lowered { throw RunError("refused"); }, [] { return 1e9; }};
  CHECK(walk_fusion(refusing, model, {}, few, {}, 3, options).empty());
  CHECK(toy.measured == 3);
}

}  // namespace hone::tune
