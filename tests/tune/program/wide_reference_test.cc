// Half-precision programs whose roundings grow from layer to layer; skipped where the worker is not built.
#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "graph/decision_family.h"
#include "tests/tune/real_worker.h"
#include "tune/session/decision_list.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

constexpr Duel kOnce{.min_rounds = 1, .max_rounds = 1, .budget_ms = 1, .limit_s = 120};

// Layers y = sin(gain * x w), each of which enlarges differences.
std::string layers(int count, double gain, int rows) {
  const std::string type = fmt::format("bf16[{},256]", rows);
  std::string text = fmt::format(R"(HloModule layers
ENTRY main {{
  w = bf16[256,256] parameter(0)
  x0 = {0} parameter(1)
  g = bf16[] constant({1})
  b = {0} broadcast(g), dimensions={{}}
)",
                                 type, gain);
  for (int i = 0; i < count; ++i)
    text += fmt::format(
        "  d{0} = {3} dot(x{0}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
        "  scaled{0} = {3} multiply(d{0}, b)\n  {2}x{1} = {3} sine(scaled{0})\n",
        i, i + 1, i + 1 == count ? "ROOT " : "", type);
  return text + "}\n";
}

Measurement measure_f32_result(const std::string& program) {
  Session session(with_worker());
  session.load(program, "layers");
  std::vector<Dimension> dots = session.lower({}, false).dimensions;
  std::erase_if(dots, [](const Dimension& d) { return !is_alone(d); });
  REQUIRE(dots.size() == 1);
  return session.measure_program({{DecisionKind::Rewrite, dots[0].key, kF32Result}}, {}, kOnce);
}

}  // namespace

TEST_CASE("outputs as near as default XLA's to those in f32 are equal", "[tune]") {
  if (no_worker()) return;
  const Measurement m = measure_f32_result(layers(8, 2.3, 1024));
  INFO(m.note);
  CHECK(m.ok());
  CHECK(m.max_error <= 1);
  CHECK(m.note == "as near as default XLA to the outputs in f32");
}

TEST_CASE("outputs that say nothing, since default XLA is far from f32 itself, are refused", "[tune]") {
  if (no_worker()) return;
  const Measurement m = measure_f32_result(layers(40, 6.0, 16));
  INFO(m.note);
  CHECK(m.outcome == Outcome::Mismatch);
}

TEST_CASE("a program of few layers is judged by the tolerance of its type", "[tune]") {
  if (no_worker()) return;
  const Measurement m = measure_f32_result(layers(2, 1.0, 16));
  CHECK(m.ok());
  CHECK(m.note.empty());
}

}  // namespace hone::tune
