// Gradients of poolings as shifted slices, and argmax as two reductions, on the real compiler; skipped where the worker is not built.
#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "tests/tune/program/other_form.h"

namespace hone::tune {
namespace {

std::string scatter(const std::string& in, const std::string& out, const std::string& window,
                    const std::string& direction, const std::string& values = "parameter(0)") {
  return fmt::format(R"(HloModule one
better {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = pred[] compare(p, q), direction={}
}}
add {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}}
ENTRY main {{
  a = {} {}
  b = {} parameter({})
  c = f32[] constant(0)
  ROOT y = {} select-and-scatter(a, b, c), window={{{}}}, select=better, scatter=add
}}
)",
                     direction, in, values, out, values == "parameter(0)" ? 1 : 0, in, window);
}

std::string arg_reduction(const std::string& direction, const std::string& first, const std::string& values,
                          int dimension) {
  return fmt::format(R"(HloModule one
best {{
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  beats = pred[] compare(a, b), direction={}
  none = pred[] compare(a, a), direction=NE
  better = pred[] or(beats, none)
  equal = pred[] compare(a, b), direction=EQ
  earlier = pred[] compare(i, j), direction=LT
  tied = pred[] and(equal, earlier)
  before = pred[] or(better, tied)
  value = f32[] select(better, a, b)
  index = s32[] select(before, i, j)
  ROOT both = (f32[], s32[]) tuple(value, index)
}}
ENTRY main {{
  x = f32[4,6] {}
  i = s32[4,6] iota(), iota_dimension={}
  first = f32[] constant({})
  zero = s32[] constant(0)
  pair = (f32[{}], s32[{}]) reduce(x, i, first, zero), dimensions={{{}}}, to_apply=best
  v = f32[{}] get-tuple-element(pair), index=0
  n = s32[{}] get-tuple-element(pair), index=1
  z = f32[{}] parameter({})
  ROOT out = (f32[{}], s32[{}], f32[{}]) tuple(v, n, z)
}}
)",
                     direction, values, dimension, first, dimension == 1 ? 4 : 6, dimension == 1 ? 4 : 6, dimension,
                     dimension == 1 ? 4 : 6, dimension == 1 ? 4 : 6, dimension == 1 ? 4 : 6,
                     values == "parameter(0)" ? 1 : 0, dimension == 1 ? 4 : 6, dimension == 1 ? 4 : 6,
                     dimension == 1 ? 4 : 6);
}

}  // namespace

TEST_CASE("gradients of poolings as shifted slices compute the same", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string programs[] = {
      scatter("f32[1,9,8,6]", "f32[1,5,4,6]", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x0_1x0_0", "GE"),
      scatter("f32[2,6,6,3]", "f32[2,3,3,3]", "size=1x2x2x1 stride=1x2x2x1", "GE"),
      scatter("f32[2,7,7,3]", "f32[2,5,5,3]", "size=1x3x3x1", "LE"),
      scatter("f32[1,11]", "f32[1,3]", "size=1x2 stride=1x4", "GE"),
      scatter("f32[7,5]", "f32[5,3]", "size=5x3 stride=2x2 pad=4_2x1_1", "GE"),
      // Nothing but ties, and nothing but the least number beside padding.
      scatter("f32[4,4]", "f32[3,3]", "size=2x2 stride=2x2 pad=1_1x1_1", "GE", "broadcast(k), dimensions={}"),
  };
  for (std::string program : programs) {
    INFO(program);
    if (const size_t at = program.find("  a = f32[4,4]"); at != std::string::npos)
      program.insert(at, "  k = f32[] constant(-inf)\n");
    CHECK(check_other_form(session, program, FamilyId::PoolingGradient).find("scatter") == std::string::npos);
  }
}

TEST_CASE("select-and-scatter that is no gradient of a pooling stays", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  CHECK_FALSE(offers(session, scatter("f32[7,7]", "f32[3,3]", "size=3x3 stride=2x2", "GT"), FamilyId::PoolingGradient));
  std::string other = scatter("f32[7,7]", "f32[3,3]", "size=3x3 stride=2x2", "GE");
  other.replace(other.find("constant(0)"), 11, "constant(1)");
  CHECK_FALSE(offers(session, other, FamilyId::PoolingGradient));
  CHECK_FALSE(offers(session, scatter("f32[20,20]", "f32[12,12]", "size=9x9", "GE"), FamilyId::PoolingGradient));
}

TEST_CASE("argmax and argmin as two reductions find the same, also ties and what is no number", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string ties =
      "constant({{1,3,3,2,0,3},{-inf,-inf,-inf,-inf,-inf,-inf},{5,nan,7,nan,9,1},{inf,-inf,inf,-inf,0,-0}})";
  const std::string other_ties =
      "constant({{1,3,3,2,0,0},{inf,inf,inf,inf,inf,inf},{5,nan,7,nan,9,1},{-inf,inf,-inf,inf,0,-0}})";
  for (const int dimension : {0, 1}) {
    check_other_form(session, arg_reduction("GT", "-inf", "parameter(0)", dimension), FamilyId::ArgReduction);
    check_other_form(session, arg_reduction("LT", "inf", "parameter(0)", dimension), FamilyId::ArgReduction);
    check_other_form(session, arg_reduction("GT", "-inf", ties, dimension), FamilyId::ArgReduction);
    check_other_form(session, arg_reduction("LT", "inf", other_ties, dimension), FamilyId::ArgReduction);
    for (const char* direction : {"GT", "LT"}) {  // the best value, too, is none where one is no number
      const std::string program =
          arg_reduction(direction, *direction == 'G' ? "-inf" : "inf", "parameter(0)", dimension);
      const Decisions form = other_form(session, program, FamilyId::ArgReduction);
      for (const InputKind kind : {InputKind::Special, InputKind::Ties, InputKind::Denormal, InputKind::Large}) {
        const OutputCheck check = session.check_outputs(form, kind, 60);
        INFO(program << input_kind_name(kind) << ": " << check.found << " in place of " << check.expected);
        CHECK(check.outcome == Outcome::Ok);
      }
    }
  }
  CHECK_FALSE(offers(session, arg_reduction("GE", "-inf", "parameter(0)", 1), FamilyId::ArgReduction));
  CHECK_FALSE(offers(session, arg_reduction("GT", "inf", "parameter(0)", 1), FamilyId::ArgReduction));
}

TEST_CASE("sines and cosines by polynomials are as near as XLA's own, also of large arguments", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const char* opcode : {"sine", "cosine"})
    for (const char* factor : {"1", "700", "1e6", "1e-5", "nan"}) {
      INFO(opcode << " of " << factor);
      const std::string program = fmt::format(R"(HloModule one
ENTRY main {{
  a = f32[96,64] parameter(0)
  b = f32[] constant({})
  c = f32[96,64] broadcast(b), dimensions={{}}
  d = f32[96,64] multiply(a, c)
  e = f32[96,64] {}(d)
  ROOT out = (f32[96,64], f32[96,64]) tuple(e, a)
}}
)",
                                              factor, opcode);
      const Measurement m = session.measure_program(other_form(session, program, FamilyId::Sine), {}, kOnce);
      INFO(m.note);
      CHECK(m.outcome == (std::string(factor) == "nan" ? Outcome::Unverified : Outcome::Ok));
      CHECK(m.max_error < 0.01);  // of the tolerance of 1,024 units in the last place
    }
}

}  // namespace hone::tune
