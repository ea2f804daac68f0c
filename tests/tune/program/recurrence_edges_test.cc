// Recurrent loops at the edge of what is recognised, on the real compiler.
#include <catch2/catch.hpp>
#include <string>

#include "graph/decision_family.h"
#include "tests/tune/program/other_form.h"

namespace hone::tune {

namespace {

// h = tanh(step), where `step` is made of h, a part a that changes, a row of xs at `index`, and a matrix.
std::string loop_of(const std::string& step, const std::string& index = "  at = s32[] copy(i)\n") {
  return R"(HloModule one
step {
  s = (s32[], f32[9], f32[], f32[6,9], f32[9,9], f32[0]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[9] get-tuple-element(s), index=1
  a = f32[] get-tuple-element(s), index=2
  xs = f32[6,9] get-tuple-element(s), index=3
  w = f32[9,9] get-tuple-element(s), index=4
  none = f32[0] get-tuple-element(s), index=5
  z = s32[] constant(0)
  one = s32[] constant(1)
)" + index +
         R"(  x1 = f32[1,9] dynamic-slice(xs, at, z), dynamic_slice_sizes={1,9}
  x = f32[9] reshape(x1)
)" + step +
         R"(  nh = f32[9] tanh(m)
  na = f32[] multiply(a, a)
  ni = s32[] add(i, one)
  ROOT t = (s32[], f32[9], f32[], f32[6,9], f32[9,9], f32[0]) tuple(ni, nh, KEPT, xs, w, none)
}
more {
  s = (s32[], f32[9], f32[], f32[6,9], f32[9,9], f32[0]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(6)
  ROOT r = pred[] compare(i, n), direction=LT
}
ENTRY main {
  z = s32[] constant(0)
  h = f32[9] parameter(0)
  a = f32[] parameter(1)
  xs = f32[6,9] parameter(2)
  w = f32[9,9] parameter(3)
  none = f32[0] parameter(4)
  s = (s32[], f32[9], f32[], f32[6,9], f32[9,9], f32[0]) tuple(z, h, a, xs, w, none)
  loop = (s32[], f32[9], f32[], f32[6,9], f32[9,9], f32[0]) while(s), condition=more, body=step
  ROOT out = f32[9] get-tuple-element(loop), index=1
}
)";
}

std::string with(std::string text, const std::string& kept) { return text.replace(text.find("KEPT"), 4, kept); }

const std::string kPlainDot = "  d = f32[9] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
constexpr char kPlain[] = R"(  d = f32[9] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  m = f32[9] add(d, x)
)";

}  // namespace

TEST_CASE("a part of no columns beside others is left out of a recurrent loop's dots", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  check_other_form(session, with(loop_of(kPlain), "a"), FamilyId::Recurrence);
  check_other_form(session,
                   with(loop_of(R"(  c = f32[9] concatenate(none, h), dimensions={0}
  d = f32[9] dot(w, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  m = f32[9] add(d, x)
)"),
                        "a"),
                   FamilyId::Recurrence);
}

TEST_CASE("a number that changes from step to step is no column of a recurrent loop", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string scaled = R"(  d = f32[9] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ab = f32[9] broadcast(a), dimensions={}
  m = f32[9] multiply(d, ab)
)";
  CHECK_FALSE(offers(session, with(loop_of(scaled), "na"), FamilyId::Recurrence));
}

TEST_CASE("a step of thousands of operations is left to XLA, whichever part of it is long", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  // sin(sin(... x)) of so many; the kept one is of the matrix, which no step changes.
  const auto chain = [](const std::string& shape, const std::string& first, const char* op, int length) {
    std::string text, last = first;
    for (int n = 0; n < length; ++n) {
      const std::string name = op + std::to_string(n);
      text += "  " + name + " = " + shape + " " + op + "(" + last + ")\n";
      last = name;
    }
    return text + "  last = " + shape + " copy(" + last + ")\n";
  };
  for (const int length : {100, 3000}) {
    const std::string changing = kPlainDot + chain("f32[9]", "d", "tanh", length) + "  m = f32[9] add(last, x)\n";
    const std::string kept = chain("f32[9,9]", "w", "cosine", length) +
                             "  d = f32[9] dot(last, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                             "  m = f32[9] add(d, x)\n";
    for (const std::string& step : {changing, kept}) {
      INFO(length);
      CHECK(offers(session, with(loop_of(step), "a"), FamilyId::Recurrence) == (length == 100));
    }
  }
}

TEST_CASE("indices of types that wrap are not lines over the steps of a recurrent loop", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  REQUIRE(offers(session, with(loop_of(kPlain), "a"), FamilyId::Recurrence));
  // 200 + 100 is 44 in a byte.
  const std::string bytes = R"(  c200 = u8[] constant(200)
  c100 = u8[] constant(100)
  sum = u8[] add(c200, c100)
  wrapped = s32[] convert(sum)
  c44 = s32[] constant(44)
  i0 = s32[] add(i, wrapped)
  at = s32[] subtract(i0, c44)
)";
  CHECK_FALSE(offers(session, with(loop_of(kPlain, bytes), "a"), FamilyId::Recurrence));
}

}  // namespace hone::tune
