// Convolutions by Winograd's method and half-precision dots on the real compiler; skipped where the worker is not built.
#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "graph/decision_family.h"
#include "kernels/dnnl_library.h"
#include "tests/tune/program/one_convolution.h"
#include "tests/tune/real_worker.h"
#include "tune/session/decision_list.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

constexpr Duel kOnce{.min_rounds = 1, .max_rounds = 1, .budget_ms = 1, .limit_s = 120};

constexpr Convolution kConvolutions[] = {
    {"3 x 3, a size that is no multiple of a tile", "f32[1,11,9,8]", "f32[3,3,8,16]", "f32[1,11,9,16]",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"channels first, without padding, another order out", "f32[2,8,10,7]", "f32[9,8,3,3]", "f32[2,8,5,9]",
     "window={size=3x3}, dim_labels=bf01_oi01->b01f"},
    {"gradient of the input", "f32[1,9,8,16]", "f32[3,3,8,16]", "f32[1,9,8,8]",
     "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f"},
    {"one spatial dimension", "f32[3,37,8]", "f32[5,8,8]", "f32[3,37,8]",
     "window={size=5 pad=4_0}, dim_labels=b0f_0io->b0f"},
    {"one row", "f32[1,6,13,8]", "f32[1,3,8,8]", "f32[1,6,13,8]",
     "window={size=1x3 pad=0_0x1_1}, dim_labels=b01f_01io->b01f"},
    {"an even window and more padding than it needs", "f32[1,6,7,8]", "f32[2,4,8,8]", "f32[1,9,8,8]",
     "window={size=2x4 pad=3_1x2_2}, dim_labels=b01f_01io->b01f"},
    {"negative padding", "f32[1,12,12,8]", "f32[3,3,8,8]", "f32[1,8,10,8]",
     "window={size=3x3 pad=-1_-1x0_0}, dim_labels=b01f_01io->b01f"},
    {"narrow numbers", "bf16[1,8,8,8]", "bf16[3,3,8,8]", "bf16[1,8,8,8]",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"wide numbers", "f64[1,8,8,8]", "f64[3,3,8,8]", "f64[1,8,8,8]",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"rows and columns exchanged in the weights", "f32[1,7,9,8]", "f32[3,5,8,8]", "f32[1,7,9,8]",
     "window={size=5x3 pad=2_2x1_1}, dim_labels=b01f_10io->b01f"},
};

// "{{1,-2},{3,0}}", of these sizes.
std::string some_numbers(const std::vector<int>& sizes, size_t from = 0) {
  static int next = 0;
  if (from == sizes.size()) return std::to_string((next = (next * 7 + 3) % 11) - 5);
  std::string text;
  for (int i = 0; i < sizes[from]; ++i) text += (i > 0 ? "," : "") + some_numbers(sizes, from + 1);
  return "{" + text + "}";
}

std::vector<Dimension> operations_of(Session& session) {
  std::vector<Dimension> found = session.lower({}, false).dimensions;
  std::erase_if(found, [](const Dimension& d) { return !is_alone(d); });
  return found;
}

}  // namespace

TEST_CASE("every form of Winograd's method computes the convolution", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const Convolution& c : kConvolutions) {
    session.load(program_of(c), c.what);
    const std::vector<Dimension> found = operations_of(session);
    INFO(c.what);
    REQUIRE(found.size() == 1);
    std::vector<std::string> forms(found[0].options.begin() + 1, found[0].options.end());
    REQUIRE_FALSE(forms.empty());
    forms.emplace_back("winograd=2;strips=2");
    for (const std::string& form : forms) {
      INFO(form);
      const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, form}};
      CHECK(session.lower(decisions, false).hlo.find(" convolution(") == std::string::npos);
      const Measurement m = session.measure_program(decisions, {}, kOnce);
      INFO(m.note);
      CHECK(m.ok());
    }
  }
}

TEST_CASE("Winograd's method is offered as a kernel where there is one for its tiles", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::set<std::string> none = {"an even window and more padding than it needs", "negative padding",
                                      "wide numbers", "rows and columns exchanged in the weights"};
  for (const Convolution& c : kConvolutions) {
    INFO(c.what);
    session.load(program_of(c), c.what);
    const Dimension d = operations_of(session).at(0);
    const bool offered = std::find(d.options.begin(), d.options.end(), "kernel-winograd=2") != d.options.end();
    CHECK(offered == !none.contains(c.what));
    const Decisions decisions = {{DecisionKind::Rewrite, d.key, "kernel-winograd=2"}};
    if (offered)
      CHECK(session.lower(decisions, false).hlo.find("hone.winograd") != std::string::npos);
    else
      CHECK_THROWS_WITH(session.lower(decisions, false), Catch::Contains("kernel-winograd=2"));
  }
}

TEST_CASE("oneDNN computes convolutions with strides, dilation and groups", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const Convolution convolutions[] = {
      {"strides", "f32[2,9,8,8]", "f32[3,3,8,16]", "f32[2,5,4,16]",
       "window={size=3x3 stride=2x2 pad=1_1x0_1}, dim_labels=b01f_01io->b01f"},
      {"dilation", "f32[1,12,11,8]", "f32[3,3,8,8]", "f32[1,12,9,8]",
       "window={size=3x3 pad=2_2x1_1 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f"},
      {"channels first, a reversed window", "f32[1,8,7,7]", "f32[9,8,3,3]", "f32[1,9,7,7]",
       "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=bf01_oi01->bf01"},
      {"three dimensions", "f32[1,5,6,7,4]", "f32[3,3,3,4,6]", "f32[1,5,6,7,6]",
       "window={size=3x3x3 pad=1_1x1_1x1_1}, dim_labels=b012f_012io->b012f"},
      {"groups", "f32[1,8,8,64]", "f32[3,3,16,64]", "f32[1,8,8,64]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4"},
  };
  for (const Convolution& c : convolutions) {
    INFO(c.what);
    session.load(program_of(c), c.what);
    int offered = 0;
    for (const Dimension& d : session.lower({}, false).dimensions) {
      if (std::find(d.options.begin(), d.options.end(), "onednn") == d.options.end()) continue;
      ++offered;
      const Measurement m = session.measure_program({{DecisionKind::Rewrite, d.key, "onednn"}}, {}, kOnce);
      INFO(m.note);
      CHECK(m.ok());
    }
    CHECK(offered == 1);
  }
}

TEST_CASE("constant weights are transformed before the program runs", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  constexpr Convolution kRows = {"two rows of weights", "f32[1,7,9,8]", "f32[2,3,8,8]", "f32[1,6,9,8]",
                                 "window={size=2x3 pad=0_0x1_1 rhs_reversal=1x0}, dim_labels=b01f_01oi->b01f"};
  session.load(program_of(kRows, fmt::format("constant({})", some_numbers({2, 3, 8, 8}))), kRows.what);
  const std::vector<Dimension> found = operations_of(session);
  REQUIRE(found.size() == 1);
  const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, "winograd=4"}};
  CHECK(session.lower(decisions, false).hlo.find("f32[30,8,8]{2,1,0} constant(") != std::string::npos);
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note);
  CHECK(m.ok());
  CHECK(session.measure_kernel(operation_alone(found[0], {}), "winograd=2", kOnce).ok());
}

TEST_CASE("other convolutions and forms are refused", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const Convolution others[] = {
      {"strides, few features", "f32[1,8,8,4]", "f32[3,3,4,8]", "f32[1,4,4,8]",
       "window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f"},
      {"strides and dilation", "f32[1,8,8,8]", "f32[3,3,8,8]", "f32[1,4,8,8]",
       "window={size=3x3 stride=2x1 pad=0_1x2_2 rhs_dilate=1x2}, dim_labels=b01f_01io->b01f"},
      {"single positions", "f32[1,8,8,8]", "f32[1,1,8,8]", "f32[1,8,8,8]",
       "window={size=1x1}, dim_labels=b01f_01io->b01f"},
      {"a window that is too large", "f32[1,8,8,8]", "f32[8,8,8,8]", "f32[1,1,1,8]",
       "window={size=8x8}, dim_labels=b01f_01io->b01f"},
      {"no features", "f32[1,8,8,8]", "f32[3,3,8,0]", "f32[1,6,6,0]", "window={size=3x3}, dim_labels=b01f_01io->b01f"},
  };
  std::set<std::string> by_onednn = {"strides, few features", "strides and dilation", "a window that is too large"};
  if (dnnl_library() != nullptr) by_onednn.insert("single positions");
  for (const Convolution& c : others) {
    INFO(c.what);
    session.load(program_of(c), c.what);
    const std::vector<Dimension> found = operations_of(session);
    if (by_onednn.contains(c.what)) {
      REQUIRE(found.size() == 1);
      CHECK(found[0].options == std::vector<std::string>{"default", "onednn"});
    } else {
      CHECK(found.empty());
    }
  }
  session.load(program_of(kConvolutions[0]), "3 x 3");
  const std::string key = operations_of(session).at(0).key;
  for (const char* form : {"winograd=7", "winograd=1", "shifted", "winograd=4;strips=0", "kernel-winograd=6"})
    CHECK_THROWS_WITH(session.lower({{DecisionKind::Rewrite, key, form}}, false), Catch::Contains(form));
}

TEST_CASE("an operation is measured by itself, and its error against f64 is bounded", "[tune]") {
  if (no_worker()) return;
  constexpr Convolution kSquare = {"square", "f32[1,24,24,32]", "f32[3,3,32,32]", "f32[1,24,24,32]",
                                   "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"};
  SessionOptions options = with_worker();
  for (const bool exact : {false, true}) {
    options.target.exact = exact;
    Session session(options);
    session.load(program_of(kSquare), "square");
    const Kernel op = operation_alone(operations_of(session).at(0), {});
    const Measurement small = session.measure_kernel(op, "winograd=2", kOnce);
    INFO(small.note);
    CHECK(small.ok());
    CHECK(small.error > 0);
    CHECK(small.default_error > 0);
    CHECK(small.error < 1e-5);
    // Tiles of six have errors of about 30 times the direct method's, and the outputs are still within the tolerance.
    const Measurement large = session.measure_kernel(op, "winograd=6", kOnce);
    INFO(large.error << " " << large.default_error);
    CHECK(large.error > small.error);
    CHECK(large.ok() == (large.error <= (exact ? kExactError : kMostError) * std::max(large.default_error, 0x1p-24)));
    if (exact) CHECK(large.outcome == Outcome::Mismatch);
  }
}

TEST_CASE("a half-precision dot with a result of f32 computes the same", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  session.load(R"(HloModule half
ENTRY main {
  x = bf16[2,5,32] parameter(0)
  w = bf16[2,32,24] parameter(1)
  v = bf16[1,32] parameter(4)
  u = bf16[32,24] parameter(5)
  f = f16[5,32] parameter(2)
  g = f16[32,24] parameter(3)
  a = bf16[2,5,24] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  b = f16[5,24] dot(f, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = bf16[1,24] dot(v, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  k = bf16[2,1,16,8] parameter(6)
  l = bf16[1,3,16] parameter(7)
  d = bf16[2,1,8,1,3] dot(k, l), lhs_contracting_dims={2}, rhs_contracting_dims={2}
  m = bf16[6,4,3,5] parameter(8)
  n = bf16[5,7,3,2,4] parameter(9)
  e = bf16[4,6,7,2] dot(m, n), lhs_batch_dims={1}, rhs_batch_dims={4}, lhs_contracting_dims={3,2}, rhs_contracting_dims={0,2}
  ROOT r = (bf16[2,5,24], f16[5,24], bf16[1,24], bf16[2,1,8,1,3], bf16[4,6,7,2]) tuple(a, b, c, d, e)
}
)",
               "half");
  const std::vector<Dimension> found = operations_of(session);
  REQUIRE(found.size() == 4);  // the dot of f16 is too small for oneDNN
  int forms = 0;
  for (const Dimension& d : found)
    for (size_t i = 1; i < d.options.size(); ++i, ++forms) {
      INFO(d.key << " " << d.options[i]);
      const Measurement alone = session.measure_kernel(operation_alone(d, {}), d.options[i], kOnce);
      INFO(alone.note);
      CHECK(alone.ok());
      CHECK(session.measure_program({{DecisionKind::Rewrite, d.key, d.options[i]}}, {}, kOnce).ok());
    }
  CHECK(forms == 6);  // one row has two more
  const auto batched =
      std::find_if(found.begin(), found.end(), [](const Dimension& d) { return d.options.size() == 2; });
  REQUIRE(batched != found.end());
  CHECK_THROWS_WITH(session.lower({{DecisionKind::Rewrite, batched->key, kF32ResultOfTwoRows}}, false),
                    Catch::Contains("no form"));
}

TEST_CASE("the layout that an importer gave transposed weights does not keep YNNPACK away", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  session.load(R"(HloModule half
ENTRY main {
  x = bf16[5,32]{1,0} parameter(0)
  w = bf16[24,32]{1,0} parameter(1)
  t = bf16[32,24]{0,1} transpose(w), dimensions={1,0}
  ROOT a = bf16[5,24]{1,0} dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)",
               "transposed");
  const Dimension dot = operations_of(session).at(0);
  const std::string hlo = session.lower({{DecisionKind::Rewrite, dot.key, kF32Result}}, false).hlo;
  INFO(hlo);
  CHECK(hlo.find("f32[24,32]") == std::string::npos);  // the weights are not converted
  CHECK(hlo.find("f32[32,24]") == std::string::npos);
  CHECK(session.measure_kernel(operation_alone(dot, {}), kF32Result, kOnce).ok());
}

}  // namespace hone::tune
