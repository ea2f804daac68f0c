// Weights that YNNPACK packs once, on the real compiler; skipped where the worker is not built.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

constexpr Duel kOnce{.min_rounds = 1, .max_rounds = 1, .budget_ms = 1, .limit_s = 120};

// Read by a dot, by a dot in a loop, by two dots, by something else, and by none.
constexpr char kProgram[] = R"(HloModule packed
body {
  state = (s32[], f32[4,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[4,64] get-tuple-element(state), index=1
  w = f32[64,64] get-tuple-element(state), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[4,64] tanh(y)
  ROOT out = (s32[], f32[4,64], f32[64,64]) tuple(next, z, w)
}
condition {
  state = (s32[], f32[4,64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  five = s32[] constant(5)
  ROOT less = pred[] compare(i, five), direction=LT
}
ENTRY main {
  a = f32[4,48] parameter(0)
  single = f32[48,64] parameter(1)
  looped = f32[64,64] parameter(2)
  twice = f32[64,64] parameter(3)
  added = f32[4,64] parameter(4)
  unread = f32[8] parameter(5)
  b = f32[4,64] dot(a, single), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = s32[] constant(0)
  start = (s32[], f32[4,64], f32[64,64]) tuple(zero, b, looped)
  loop = (s32[], f32[4,64], f32[64,64]) while(start), condition=condition, body=body
  c = f32[4,64] get-tuple-element(loop), index=1
  d = f32[4,64] dot(c, twice), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[4,64] dot(d, twice), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  ROOT f = f32[4,64] add(e, added)
}
)";

}  // namespace

TEST_CASE("packed weights compute the same, for one and for several threads", "[tune]") {
  if (no_worker()) return;
  for (const int threads : {1, 2}) {
    SessionOptions options = with_worker();
    options.target.weights = {1, 2, 3, 4, 5};
    options.target.threads = threads;
    Session session(options);
    session.load(kProgram, "packed");
    // Offered only where the worker's self-test finds that a packed matrix is not read again.
    const Lowered plain = session.lower({}, false);
    const auto offered = std::count_if(plain.dimensions.begin(), plain.dimensions.end(), [](const Dimension& d) {
      return d.kind == DecisionKind::Weights &&
             std::find(d.options.begin(), d.options.end(), "packed") != d.options.end();
    });
    CHECK(offered == 1);  // for all; by themselves these weights are too small to be asked about
    for (const char* key : {"all", "1", "2", "3", "4", "5"}) {
      INFO(key << ", " << threads << " threads");
      const Measurement m = session.measure_program({{DecisionKind::Weights, key, "packed"}}, {}, kOnce);
      INFO(m.note);
      CHECK(m.ok());
    }
  }
}

}  // namespace hone::tune
