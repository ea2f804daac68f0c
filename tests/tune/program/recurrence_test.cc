// Recurrent loops as one kernel, on the real compiler; skipped where the worker is not built.
#include <fmt/core.h>

#include "tests/tune/program/other_form.h"

namespace hone::tune {
namespace {

// Cells of three rows, five inputs and seven columns, as JAX writes them. They take x, h, c, and the weights of four gates.
constexpr char kParameters[] = R"(  x = f32[3,5] parameter(0)
  h = f32[3,7] parameter(1)
  c = f32[3,7] parameter(2)
  wx = f32[5,28] parameter(3)
  wh = f32[7,28] parameter(4)
  b = f32[28] parameter(5)
  u = f32[] constant(1)
  us = f32[3,7] broadcast(u), dimensions={}
)";
constexpr char kGates[] = R"(  dx = f32[3,28] dot(x, wx), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dh = f32[3,28] dot(h, wh), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[3,28] add(dx, dh)
  br = f32[1,28] reshape(b)
  b1 = f32[28] reshape(br)
  bs = f32[3,28] broadcast(b1), dimensions={1}
  g = f32[3,28] add(d, bs)
)";
constexpr char kConcatenated[] = R"(  xh = f32[3,12] concatenate(x, h), dimensions={1}
  w = f32[12,28] concatenate(wx, wh), dimensions={0}
  d = f32[3,28] dot(xh, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  bs = f32[3,28] broadcast(b), dimensions={1}
  g = f32[3,28] add(d, bs)
)";
// The matrix first, its columns the first dimension, as jnp.einsum may write it.
constexpr char kMatrixFirst[] = R"(  wt = f32[28,7] transpose(wh), dimensions={1,0}
  dt = f32[28,3] dot(wt, h), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  dh = f32[3,28] transpose(dt), dimensions={1,0}
  dx = f32[3,28] dot(x, wx), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[3,28] add(dx, dh)
  bs = f32[3,28] broadcast(b), dimensions={1}
  g = f32[3,28] add(d, bs)
)";

std::string gate(const std::string& name, const std::string& of, int number) {
  return fmt::format(R"(  {0}s = f32[3,7] slice({1}), slice={{[0:3], [{2}:{3}]}}
  {0}n = f32[3,7] negate({0}s)
  {0}e = f32[3,7] exponential({0}n)
  {0}d = f32[3,7] add(us, {0}e)
  {0} = f32[3,7] divide(us, {0}d)
)",
                     name, of, 7 * number, 7 * number + 7);
}

std::string lstm(const std::string& gates = kGates) {
  return kParameters + gates + gate("i", "g", 0) + gate("f", "g", 1) + gate("o", "g", 3) + R"(
  js = f32[3,7] slice(g), slice={[0:3], [14:21]}
  j = f32[3,7] tanh(js)
  ij = f32[3,7] multiply(i, j)
  fc = f32[3,7] multiply(f, c)
  nc = f32[3,7] add(ij, fc)
  t = f32[3,7] tanh(nc)
  nh = f32[3,7] multiply(o, t)
  ROOT r = (f32[3,7], f32[3,7]) tuple(nh, nc)
)";
}

// The new state of a gated recurrent unit; the reset gate before the product, or after it. `c` counts, so that there is one.
std::string gru(bool reset_before) {
  const std::string inner = reset_before ? R"(  rh = f32[3,7] multiply(r, h)
  wn = f32[7,7] slice(wh), slice={[0:7], [14:21]}
  n1 = f32[3,7] dot(rh, wn), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)"
                                         : R"(  n0 = f32[3,7] slice(g), slice={[0:3], [14:21]}
  n1 = f32[3,7] multiply(r, n0)
)";
  return kParameters + std::string(kGates) + gate("r", "g", 0) + gate("z", "g", 1) + inner + R"(
  n = f32[3,7] tanh(n1)
  y = f32[3,7] subtract(us, z)
  yn = f32[3,7] multiply(y, n)
  zh = f32[3,7] multiply(z, h)
  nh = f32[3,7] add(yn, zh)
  nc = f32[3,7] add(c, us)
  ROOT t = (f32[3,7], f32[3,7]) tuple(nh, nc)
)";
}

// A cell that is masked, clamped and compared, with a second one on top of it, whose state is c.
std::string two_cells() {
  return kParameters + std::string(kGates) + R"(
  a = f32[3,7] slice(g), slice={[0:3], [0:7]}
  l = f32[] constant(-0.5)
  cl = f32[3,7] clamp(l, a, u)
  p = pred[3,7] compare(cl, h), direction=GE
  q = pred[3,7] compare(h, a), direction=NE
  pq = pred[3,7] and(p, q)
  nh = f32[3,7] select(pq, cl, h)
  w2 = f32[7,7] slice(wh), slice={[0:7], [7:14]}
  w3 = f32[7,7] slice(wh), slice={[0:7], [14:21]}
  below = f32[3,7] dot(nh, w2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  before = f32[3,7] dot(c, w3), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[3,7] add(below, before)
  z = f32[] constant(0)
  zs = f32[3,7] broadcast(z), dimensions={}
  m = f32[3,7] maximum(s, zs)
  k = f32[3,7] logistic(m)
  abs = f32[3,7] abs(k)
  nc = f32[3,7] minimum(abs, m)
  ROOT t = (f32[3,7], f32[3,7]) tuple(nh, nc)
)";
}

constexpr char kUp[] = "  k = s32[] add(i, z)\n";
constexpr char kDown[] = "  n = s32[] constant(5)\n  k = s32[] subtract(n, i)\n";

constexpr char kReadAndWrite[] = R"(read {
  a = f32[6,3,5] parameter(0)
  i = s32[] parameter(1)
  z = s32[] constant(0)
  n = s32[] constant(6)
  l = pred[] compare(i, z), direction=LT
  j = s32[] add(i, n)
  k = s32[] select(l, j, i)
  s = f32[1,3,5] dynamic-slice(a, k, z, z), dynamic_slice_sizes={1,3,5}
  ROOT r = f32[3,5] reshape(s)
}
write {
  a = f32[6,3,7] parameter(0)
  v = f32[3,7] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  r = f32[1,3,7] reshape(v)
  ROOT u = f32[6,3,7] dynamic-update-slice(a, r, i, z, z)
}
)";

// A loop of six steps over a cell, which returns the state and all h. `index`: computes k, which is read and written, of i.
std::string loop(const std::string& cell, const std::string& index = kUp) {
  return fmt::format(R"(HloModule one
{}cell {{
{}}}
step {{
  s = (s32[], f32[3,7], f32[3,7], f32[6,3,7], f32[6,3,5], f32[5,28], f32[7,28], f32[28]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[3,7] get-tuple-element(s), index=1
  c = f32[3,7] get-tuple-element(s), index=2
  ys = f32[6,3,7] get-tuple-element(s), index=3
  xs = f32[6,3,5] get-tuple-element(s), index=4
  wx = f32[5,28] get-tuple-element(s), index=5
  wh = f32[7,28] get-tuple-element(s), index=6
  b = f32[28] get-tuple-element(s), index=7
  z = s32[] constant(0)
{}  x = f32[3,5] call(xs, k), to_apply=read
  q = (f32[3,7], f32[3,7]) call(x, h, c, wx, wh, b), to_apply=cell
  nh = f32[3,7] get-tuple-element(q), index=0
  nc = f32[3,7] get-tuple-element(q), index=1
  nys = f32[6,3,7] call(ys, nh, k), to_apply=write
  one = s32[] constant(1)
  ni = s32[] add(i, one)
  ROOT t = (s32[], f32[3,7], f32[3,7], f32[6,3,7], f32[6,3,5], f32[5,28], f32[7,28], f32[28]) tuple(ni, nh, nc, nys, xs, wx, wh, b)
}}
more {{
  s = (s32[], f32[3,7], f32[3,7], f32[6,3,7], f32[6,3,5], f32[5,28], f32[7,28], f32[28]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(6)
  ROOT r = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  z = s32[] constant(0)
  f = f32[] constant(0)
  h = f32[3,7] parameter(0)
  c = f32[3,7] parameter(1)
  ys = f32[6,3,7] broadcast(f), dimensions={{}}
  xs = f32[6,3,5] parameter(2)
  wx = f32[5,28] parameter(3)
  wh = f32[7,28] parameter(4)
  b = f32[28] parameter(5)
  s = (s32[], f32[3,7], f32[3,7], f32[6,3,7], f32[6,3,5], f32[5,28], f32[7,28], f32[28]) tuple(z, h, c, ys, xs, wx, wh, b)
  w = (s32[], f32[3,7], f32[3,7], f32[6,3,7], f32[6,3,5], f32[5,28], f32[7,28], f32[28]) while(s), condition=more, body=step
  i = s32[] get-tuple-element(w), index=0
  nh = f32[3,7] get-tuple-element(w), index=1
  nc = f32[3,7] get-tuple-element(w), index=2
  nys = f32[6,3,7] get-tuple-element(w), index=3
  ROOT r = (s32[], f32[3,7], f32[3,7], f32[6,3,7]) tuple(i, nh, nc, nys)
}}
)",
                     kReadAndWrite, cell, index);
}

// A cell of one vector, as jax.lax.scan writes it without a batch; nothing but the state is returned.
constexpr char kSimple[] = R"(HloModule one
step {
  s = (s32[], f32[9], f32[20,9], f32[9,9]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[9] get-tuple-element(s), index=1
  xs = f32[20,9] get-tuple-element(s), index=2
  w = f32[9,9] get-tuple-element(s), index=3
  z = s32[] constant(0)
  part = f32[1,9] dynamic-slice(xs, i, z), dynamic_slice_sizes={1,9}
  x = f32[9] reshape(part)
  d = f32[9] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  a = f32[9] add(x, d)
  nh = f32[9] tanh(a)
  two = s32[] constant(2)
  ni = s32[] add(i, two)
  ROOT t = (s32[], f32[9], f32[20,9], f32[9,9]) tuple(ni, nh, xs, w)
}
more {
  s = (s32[], f32[9], f32[20,9], f32[9,9]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(17)
  ROOT r = pred[] compare(n, i), direction=GE
}
ENTRY main {
  z = s32[] constant(1)
  h = f32[9] parameter(0)
  xs = f32[20,9] parameter(1)
  w = f32[9,9] parameter(2)
  s = (s32[], f32[9], f32[20,9], f32[9,9]) tuple(z, h, xs, w)
  l = (s32[], f32[9], f32[20,9], f32[9,9]) while(s), condition=more, body=step
  ROOT nh = f32[9] get-tuple-element(l), index=1
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  INFO(from);
  REQUIRE(text.find(from) != std::string::npos);
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// The same with the state's columns before its rows.
std::string turned() {
  std::string text = replaced(kSimple, "f32[9] ", "f32[9,4] ");
  text = replaced(text, "f32[9],", "f32[9,4],");
  text = replaced(text, "f32[20,9]", "f32[20,9,4]");
  text = replaced(text, "f32[1,9] dynamic-slice(xs, i, z), dynamic_slice_sizes={1,9}",
                  "f32[1,9,4] dynamic-slice(xs, i, z, z), dynamic_slice_sizes={1,9,4}");
  return text;
}

}  // namespace

TEST_CASE("recurrent loops by one kernel give what the loop gives", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const std::string& program :
       {loop(lstm()), loop(lstm(), kDown), loop(lstm(kConcatenated)), loop(lstm(kMatrixFirst)), loop(gru(true), kDown),
        loop(gru(false)), loop(two_cells()), std::string(kSimple), turned()}) {
    INFO(program);
    const std::string hlo = check_other_form(session, program, FamilyId::Recurrence);
    CHECK(hlo.find("hone.recurrence") != std::string::npos);
    CHECK(hlo.find(" while(") == std::string::npos);
  }
}

TEST_CASE("products of the inputs of all steps become one dot before a recurrent loop", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const char* gates : {kGates, kConcatenated}) {
    const std::string hlo = check_other_form(session, loop(lstm(gates)), FamilyId::Recurrence);
    INFO(hlo);
    CHECK(hlo.find("f32[18,28]") != std::string::npos);
  }
}

TEST_CASE("a loop by one kernel takes the dots in it, whatever is decided about them", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  // Matrices of which a dot of three rows has a form of its own.
  std::string program = replaced(loop(lstm()), "28", "400");
  for (const auto& [from, to] : {std::pair{"7", "100"},
                                 {"index=100", "index=7"},
                                 {"[14:", "[200:"},
                                 {":14]", ":200]"},
                                 {"[21:", "[300:"},
                                 {":21]", ":300]"}})
    program = replaced(program, from, to);
  const Decisions of_loop = other_form(session, program, FamilyId::Recurrence);
  Decisions decisions = of_loop;
  for (const Dimension& d : dimensions_of(session, program, FamilyId::FloatDot))
    decisions.push_back({DecisionKind::Rewrite, d.key, d.options[1]});
  REQUIRE(decisions.size() > of_loop.size());
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note);
  CHECK(m.ok());
  CHECK(session.lower(decisions, false).hlo.find("hone.recurrence") != std::string::npos);
}

TEST_CASE("loops that do something else are not offered one kernel", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string program = loop(lstm());
  REQUIRE(offers(session, program, FamilyId::Recurrence));
  const std::pair<const char*, const char*> changes[] = {
      // A number of steps that is known only when the program runs, or none that the counter is compared with.
      {"  z = s32[] constant(0)\n  f = f32[] constant(0)", "  z = s32[] parameter(6)\n  f = f32[] constant(0)"},
      {"compare(i, n), direction=LT", "compare(i, n), direction=NE"},
      {"ni = s32[] add(i, one)", "ni = s32[] multiply(i, one)"},
      // What a step writes is read by it, or not all of it is written, or an index lies outside.
      {"  nys = f32[6,3,7] call(ys", "  ysn = f32[6,3,7] negate(ys)\n  nys = f32[6,3,7] call(ysn"},
      {"  k = s32[] add(i, z)\n", "  k = s32[] add(i, i)\n"},
      {"  k = s32[] add(i, z)\n", "  n = s32[] constant(1)\n  k = s32[] add(i, n)\n"},
      {"constant(6)\n  ROOT r = pred[]", "constant(5)\n  ROOT r = pred[]"},
      {"call(ys, nh, k), to_apply=write", "call(ys, nh, z), to_apply=write"},
      // Operations between columns or rows.
      {"t = f32[3,7] tanh(nc)", "tn = f32[3,7] tanh(nc)\n  t = f32[3,7] reverse(tn), dimensions={1}"},
      {"fc = f32[3,7] multiply(f, c)", "ch = f32[3,7] reverse(c), dimensions={0}\n  fc = f32[3,7] multiply(f, ch)"},
      // A matrix that changes, numbers of the counter, another operation.
      {"nys, xs, wx, wh, b)\n}\nmore", "nys, xs, wx, nwh, b)\n}\nmore"},
      {"t = f32[3,7] tanh(nc)", "t = f32[3,7] cosine(nc)"},
  };
  for (const auto& [from, to] : changes) {
    std::string changed = replaced(program, from, to);
    if (changed.find("nwh") != std::string::npos)
      changed = replaced(changed, "  one = s32[]", "  nwh = f32[7,28] tanh(wh)\n  one = s32[]");
    INFO(from << " -> " << to);
    CHECK_FALSE(offers(session, changed, FamilyId::Recurrence));
  }
  CHECK_FALSE(offers(session, replaced(program, "f32", "f64"), FamilyId::Recurrence));
  CHECK_FALSE(offers(session, replaced(program, "[6,3,", "[1,3,"), FamilyId::Recurrence));
}

TEST_CASE("loops with effects, other counters or loops inside are not offered one kernel", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string effect =
      "  e = f32[3,7] custom-call(h), custom_call_target=\"unknown\", custom_call_has_side_effect=true\n";
  CHECK_FALSE(offers(session, replaced(loop(lstm()), "  one = s32[]", effect + "  one = s32[]"), FamilyId::Recurrence));
  // The counter as a number in the cell.
  const std::string counted = replaced(loop(lstm()), "  q = (f32[3,7]",
                                       "  fi = f32[] convert(i)\n  is = f32[3,7] broadcast(fi), dimensions={}\n  hi = "
                                       "f32[3,7] add(h, is)\n  q = (f32[3,7]");
  CHECK_FALSE(offers(session, replaced(counted, "call(x, h, c", "call(x, hi, c"), FamilyId::Recurrence));
  // A second whole number that changes.
  std::string second = replaced(loop(lstm()), "f32[28])", "f32[28], s32[])");
  second = replaced(second, "wx, wh, b)\n}\nmore", "wx, wh, b, nj)\n}\nmore");
  second = replaced(second, "  one = s32[]",
                    "  j = s32[] get-tuple-element(s), index=8\n  nj = s32[] add(j, i)\n  one = s32[]");
  second = replaced(second, "ys, xs, wx, wh, b)\n  w =", "ys, xs, wx, wh, b, z)\n  w =");
  CHECK_FALSE(offers(session, second, FamilyId::Recurrence));
  // A loop within a step.
  std::string nested = replaced(loop(lstm()), "t = f32[3,7] tanh(nc)", R"(zero = s32[] constant(0)
  inside = (s32[], f32[3,7]) tuple(zero, nc)
  after = (s32[], f32[3,7]) while(inside), condition=inner_more, body=inner
  t = f32[3,7] get-tuple-element(after), index=1)");
  nested = replaced(nested, "cell {", R"(inner {
  s = (s32[], f32[3,7]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[3,7] get-tuple-element(s), index=1
  one = s32[] constant(1)
  ni = s32[] add(i, one)
  nv = f32[3,7] tanh(v)
  ROOT t = (s32[], f32[3,7]) tuple(ni, nv)
}
inner_more {
  s = (s32[], f32[3,7]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)
  ROOT r = pred[] compare(i, n), direction=LT
}
cell {)");
  CHECK_FALSE(offers(session, nested, FamilyId::Recurrence));
}

}  // namespace hone::tune
