// Grouped convolutions and poolings as shifted slices on the real compiler; skipped where the worker is not built.
#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "graph/decision_family.h"
#include "tests/tune/program/one_convolution.h"
#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

constexpr Convolution kConvolutions[] = {
    {"depthwise with strides", "f32[2,9,8,6]", "f32[3,3,1,6]", "f32[2,5,4,6]",
     "window={size=3x3 stride=2x2 pad=1_1x0_1}, dim_labels=b01f_01io->b01f, feature_group_count=6"},
    {"two outputs per feature, channels first, another order out", "f32[1,4,7,7]", "f32[8,1,3,3]", "f32[1,5,5,8]",
     "window={size=3x3}, dim_labels=bf01_oi01->b01f, feature_group_count=4"},
    {"two features per group", "f32[1,6,6,8]", "f32[3,3,2,8]", "f32[1,6,6,8]",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4"},
    {"three features per group, two outputs each", "f32[1,9,5,5]", "f32[6,3,2,2]", "f32[1,6,4,4]",
     "window={size=2x2}, dim_labels=bf01_oi01->bf01, feature_group_count=3"},
    {"causal, dilated, one spatial dimension", "f32[2,16,5]", "f32[4,1,5]", "f32[2,16,5]",
     "window={size=4 pad=6_0 rhs_dilate=2}, dim_labels=b0f_0io->b0f, feature_group_count=5"},
    {"gradient of the input", "f32[2,5,4,6]", "f32[3,3,1,6]", "f32[2,9,8,6]",
     "window={size=3x3 pad=1_1x2_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f, "
     "feature_group_count=6"},
    {"gradient of the weights", "f32[2,9,8,6]", "f32[2,5,4,6]", "f32[3,3,1,6]",
     "window={size=5x4 pad=1_1x0_1 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf, batch_group_count=6"},
    {"gradient of the weights, channels first", "f32[2,6,9,8]", "f32[2,6,9,8]", "f32[3,3,1,6]",
     "window={size=9x8 pad=1_1x1_1}, dim_labels=fb01_io01->01bf, batch_group_count=6"},
    {"narrow numbers", "bf16[2,9,8,6]", "bf16[3,3,1,6]", "bf16[2,9,8,6]",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=6"},
    {"negative padding", "f32[2,9,8,6]", "f32[3,3,1,6]", "f32[2,5,6,6]",
     "window={size=3x3 pad=-1_-1x0_0}, dim_labels=b01f_01io->b01f, feature_group_count=6"},
};

std::vector<Dimension> windows_of(const Lowered& lowered) {
  std::vector<Dimension> found = lowered.dimensions;
  std::erase_if(found, [](const Dimension& d) {
    return d.kind != DecisionKind::Rewrite ||
           std::find(d.options.begin(), d.options.end(), kShifted) == d.options.end();
  });
  return found;
}

// The program's one convolution or pooling is rewritten once it is decided, and the outputs stay the same.
void check_shifted(Session& session, const std::string& opcode) {
  const std::vector<Dimension> found = windows_of(session.lower({}, false));
  REQUIRE(found.size() == 1);
  std::vector<std::string> options = found[0].options;
  std::erase(options, "onednn");  // see winograd_test.cc
  CHECK(options == std::vector<std::string>{"default", kShifted});
  CHECK(found[0].default_option == 0);
  CHECK(found[0].weight > 0);
  const Decision shifted{DecisionKind::Rewrite, found[0].key, kShifted};
  CHECK(session.lower({shifted}, false).hlo.find(" " + opcode + "(") == std::string::npos);
  const Measurement m =
      session.measure_program({shifted}, {}, {.min_rounds = 1, .max_rounds = 1, .budget_ms = 1, .limit_s = 120});
  INFO(m.note);
  CHECK(m.ok());
  CHECK(m.max_error <= 1);
}

}  // namespace

TEST_CASE("grouped convolutions as shifted slices compute the same", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const Convolution& c : kConvolutions) {
    INFO(c.what);
    session.load(program_of(c), c.what);
    check_shifted(session, "convolution");
  }
}

TEST_CASE("grouped convolutions of nothing have no other form", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const Convolution convolutions[] = {
      {"no features", "f32[1,6,8,0]", "f32[3,3,0,8]", "f32[1,6,8,8]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4"},
      {"no results", "f32[1,6,8,8]", "f32[3,3,2,0]", "f32[1,6,8,0]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4"},
      {"no images", "f32[0,6,8,4]", "f32[3,3,1,4]", "f32[0,6,8,4]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4"},
  };
  for (const Convolution& c : convolutions) {
    INFO(c.what);
    session.load(program_of(c), c.what);
    CHECK(windows_of(session.lower({}, false)).empty());
  }
}

TEST_CASE("poolings as shifted slices compute the same", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const char* programs[][3] = {
      {"maximum", "-inf", "f32[1,5,4,6] reduce-window(x, c), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x0_1x0_0}"},
      {"add", "0", "f32[1,9,8,6] reduce-window(x, c), window={size=1x3x3x1 pad=0_0x1_1x1_1x0_0}"},
      {"minimum", "inf", "f32[1,5,4,6] reduce-window(x, c), window={size=1x3x3x1 rhs_dilate=1x2x2x1}"},
      {"add", "0", "f32[1,17,8,6] reduce-window(x, c), window={size=1x2x1x1 pad=0_0x1_0x0_0x0_0 lhs_dilate=1x2x1x1}"},
  };
  for (const auto& [reducer, first, operation] : programs) {
    INFO(operation);
    session.load(fmt::format(R"(HloModule one
f {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] {}(p, q)
}}
ENTRY main {{
  a = f32[1,9,8,6] parameter(0)
  c = f32[] constant({})
  x = f32[1,9,8,6] tanh(a)
  ROOT y = {}, to_apply=f
}}
)",
                             reducer, first, operation),
                 reducer);
    check_shifted(session, "reduce-window");
  }
}

TEST_CASE("only the convolution that is decided changes", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  session.load(R"(HloModule three
ENTRY main {
  x = f32[1,8,8,4] parameter(0)
  w = f32[3,3,1,4] parameter(1)
  v = f32[5,5,1,4] parameter(2)
  d = f32[3,3,4,4] parameter(3)
  a = f32[1,8,8,4] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4
  b = f32[1,8,8,4] convolution(a, v), window={size=5x5 pad=2_2x2_2}, dim_labels=b01f_01io->b01f, feature_group_count=4
  ROOT c = f32[1,8,8,4] convolution(b, d), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
)",
               "three");
  const Lowered plain = session.lower({}, false);
  const std::vector<Dimension> found = windows_of(plain);
  REQUIRE(found.size() == 2);  // the dense convolution is not among them
  const auto convolutions = [&](const Decisions& decisions) {
    const std::string hlo = session.lower(decisions, false).hlo;
    int count = 0;
    for (size_t at = hlo.find(" convolution("); at != std::string::npos; at = hlo.find(" convolution(", at + 1))
      ++count;
    return count;
  };
  const Decision first{DecisionKind::Rewrite, found[0].key, kShifted};
  const Decision second{DecisionKind::Rewrite, found[1].key, kShifted};
  const int all = convolutions({});
  CHECK(convolutions({first}) == all - 1);
  CHECK(convolutions({first, second}) == all - 2);
  CHECK(session.lower({{DecisionKind::Rewrite, found[0].key, "default"}}, false).fingerprint == plain.fingerprint);

  const std::string gone = fmt::format("{}f32[1]*f32[1]->f32[1]:groups 2", family(FamilyId::GroupedConvolution).prefix);
  CHECK_THROWS_WITH(session.lower({{DecisionKind::Rewrite, found[0].key, "eigen"}}, false), Catch::Contains("eigen"));
  CHECK_THROWS_WITH(session.lower({{DecisionKind::Rewrite, gone, kShifted}}, false),
                    Catch::Contains("no such operation"));
}

}  // namespace hone::tune
