// Layouts decided on the real XLA, through a worker; skipped where it is not built.

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "data/layout_space.h"
#include "graph/layout_choice.h"
#include "tests/tune/real_worker.h"
#include "tune/program/predicted_layouts.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

constexpr char kProgram[] = R"(HloModule small
ENTRY main {
  a = f32[24,40] parameter(0)
  b = f32[40,16] parameter(1)
  x = f32[24,40] tanh(a)
  y = f32[40,16] tanh(b)
  d = f32[24,16] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[24,16] exponential(d)
  r = f32[2,12,16] reshape(e)
  w = f32[2,16,8] parameter(2)
  ROOT m = f32[2,12,8] dot(r, w), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
}
)";

bool has_option(const Dimension& dimension, const std::string& option) {
  return std::find(dimension.options.begin(), dimension.options.end(), option) != dimension.options.end();
}

}  // namespace

TEST_CASE("layouts of a program on the real XLA: listed, applied, verified, refused", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  session.load(kProgram, "small");
  const LayoutSpace layouts = layout_space_from(session.list_layouts());
  REQUIRE(layouts.space.dimensions.size() == layouts.nodes.size());
  REQUIRE(layouts.nodes.size() >= 2);
  std::string dot;
  for (size_t i = 0; i < layouts.nodes.size(); ++i) {
    const Node& node = layouts.graph.nodes[layouts.nodes[i]];
    const Dimension& dimension = layouts.space.dimensions[i];
    CHECK(node.name == dimension.key);
    CHECK(dimension.options[0] == kDefaultLayout);
    CHECK(node.shape.minor_to_major.size() == node.shape.dims.size());
    if (node.opcode != "dot") continue;
    if (node.shape.dims.size() == 2) dot = node.name;
    // The batch axis stays the most major, and the program's result keeps its layout.
    if (node.is_root) CHECK_FALSE(has_option(dimension, "1,2,0/-/-"));
    if (node.shape.dims.size() == 3) CHECK(has_option(dimension, "-/1,2,0/-"));
    if (node.shape.dims.size() == 3) CHECK_FALSE(has_option(dimension, "-/0,1,2/-"));
  }
  REQUIRE_FALSE(dot.empty());

  const Lowered plain = session.lower({}, false);
  const Lowered turned = session.lower({{DecisionKind::Layout, dot, "-/-/0,1"}}, false);
  CHECK(session.lower({}, false).fingerprint == plain.fingerprint);
  CHECK(session.lower({{DecisionKind::Layout, dot, "default"}}, false).fingerprint == plain.fingerprint);
  CHECK(turned.fingerprint != plain.fingerprint);
  CHECK_THAT(turned.hlo, Catch::Contains("f32[40,16]{0,1}"));
  CHECK_THAT(plain.hlo, !Catch::Contains("f32[40,16]{0,1}"));

  const Duel duel{.min_rounds = 2, .max_rounds = 2, .budget_ms = 1, .limit_s = 120};
  for (const char* value : {"0,1/-/-", "-/0,1/-", "0,1/0,1/0,1"}) {
    const Measurement m = session.measure_program({{DecisionKind::Layout, dot, value}}, {}, duel);
    INFO(m.note);
    CHECK(m.ok());
    CHECK(m.max_error <= 1);
  }
  CHECK_THROWS_WITH(session.lower({{DecisionKind::Layout, "gone.1", "0,1/-/-"}}, false), Catch::Contains("gone.1"));
  CHECK_THROWS_AS(session.lower({{DecisionKind::Layout, dot, "0,1"}}, false), Error);
  CHECK_THROWS_AS(session.lower({{DecisionKind::Layout, dot, "0,1,2/-/-"}}, false), Error);
  CHECK(session.lower({}, false).fingerprint == plain.fingerprint);  // a refused decision leaves nothing behind
}

TEST_CASE("dots of several batch axes are left row-major: XLA aborts on others", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  session.load(R"(HloModule batched
ENTRY main {
  a = f32[2,3,8,16] parameter(0)
  b = f32[2,3,16,4] parameter(1)
  d = f32[2,3,8,4] dot(a, b), lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,1}, rhs_contracting_dims={2}
  ROOT t = f32[2,3,8,4] tanh(d)
}
)",
               "batched");
  const LayoutSpace layouts = layout_space_from(session.list_layouts());
  CHECK(layouts.graph.nodes.size() >= 4);
  for (int64_t node : layouts.nodes) CHECK(layouts.graph.nodes[node].opcode != "dot");
}

TEST_CASE("reductions, broadcasts and concatenations can be laid out, too, beside the data set's operations",
          "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  session.load(R"(HloModule shifted
add {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q)
}
ENTRY main {
  a = f32[64,48] parameter(0)
  head = f32[64,1] slice(a), slice={[0:64], [0:1]}
  tail = f32[64,47] slice(a), slice={[0:64], [1:48]}
  rolled = f32[64,48] concatenate(tail, head), dimensions={1}
  sine = f32[64,48] sine(rolled)
  row = f32[48] parameter(1)
  rows = f32[64,32,48] broadcast(row), dimensions={2}
  wide = f32[64,32,48] broadcast(sine), dimensions={0,2}
  product = f32[64,32,48] multiply(wide, rows)
  zero = f32[] constant(0)
  ROOT sum = f32[64,32] reduce(product, zero), dimensions={2}, to_apply=add
}
)",
               "shifted");
  const auto reply = session.list_layouts();
  CHECK(layout_space_from(reply).space.dimensions.empty());
  const LayoutSpace all = layout_space_from(reply, LayoutsOf::All);
  std::set<std::string> opcodes;
  const std::string plain = session.lower({}, false).fingerprint;
  const Duel duel{.min_rounds = 1, .max_rounds = 1, .budget_ms = 1, .limit_s = 120};
  int other_programs = 0;
  for (size_t i = 0; i < all.nodes.size(); ++i) {
    const Dimension& d = all.space.dimensions[i];
    opcodes.insert(all.graph.nodes[all.nodes[i]].opcode);
    const Decisions last{{d.kind, d.key, d.options.back()}};
    other_programs += session.lower(last, false).fingerprint != plain;
    const Measurement m = session.measure_program(last, {}, duel);
    INFO(to_text(last) << ": " << m.note);
    CHECK(m.ok());
  }
  CHECK(opcodes == std::set<std::string>{"broadcast", "concatenate", "reduce"});
  CHECK(other_programs > 0);
}

TEST_CASE("layouts by predicted times of the real XLA", "[tune]") {
  const VariedModels models = shipped_varied_models("", /*threads=*/1, "");
  if (no_worker() || models.empty()) return;
  Session session(with_worker());
  session.load(kProgram, "small");
  const std::vector<PredictedLayout> found = predict_layouts(session, {}, models, /*budget_s=*/20);
  REQUIRE_FALSE(found.empty());
  CHECK(std::is_sorted(found.begin(), found.end(), [](auto& a, auto& b) { return a.margin > b.margin; }));
  for (const PredictedLayout& layout : found) CHECK(layout.decision.kind == DecisionKind::Layout);
}

}  // namespace hone::tune
