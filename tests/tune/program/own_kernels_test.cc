// Sorts by Highway, cumulative sums in one pass, and small dots, on the real compiler; skipped where the worker is not built.
#include <fmt/core.h>

#include "kernels/highway_sort.h"
#include "tests/skip.h"
#include "tests/tune/program/other_form.h"

namespace hone::tune {
namespace {

// A sort of [6,50] over a dimension with as many arrays as there are types, by `comparator`, which compares a and b; c and d
// are the second array's.
std::string sort(const std::string& comparator, const std::vector<std::string>& types, int dimension,
                 const std::string& factor = "1") {
  std::string parameters, operands, values, results, shapes;
  for (size_t i = 0; i < types.size(); ++i) {
    const char* names[] = {"a", "b", "c", "d"};
    for (size_t k = 0; k < 2; ++k)
      parameters += fmt::format("  {} = {}[] parameter({})\n", names[2 * i + k], types[i], 2 * i + k);
    values += fmt::format(
        "  x{0} = {1}[6,50] parameter({0})\n  f{0} = {1}[] constant({2})\n  g{0} = {1}[6,50] broadcast(f{0}), "
        "dimensions={{}}\n  y{0} = {1}[6,50] multiply(x{0}, g{0})\n",
        i, types[i], i == 0 ? factor : "1");
    operands += fmt::format("{}y{}", i ? ", " : "", i);
    shapes += fmt::format("{}{}[6,50]", i ? ", " : "", types[i]);
  }
  return fmt::format(R"(HloModule one
less {{
{}{}
}}
ENTRY main {{
{}  ROOT s = {} sort({}), dimensions={{{}}}, is_stable=true, to_apply=less
}}
)",
                     parameters, comparator, values, types.size() == 1 ? shapes : "(" + shapes + ")", operands,
                     dimension);
}

constexpr char kLess[] = "  ROOT r = pred[] compare(a, b), direction=LT";
constexpr char kGreater[] = "  ROOT r = pred[] compare(a, b), direction=GT";
constexpr char kSwapped[] = "  ROOT r = pred[] compare(b, a), direction=LT";
constexpr char kTotal[] = "  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER";
constexpr char kSecond[] = "  ROOT r = pred[] compare(c, d), direction=LT";
// As JAX writes it.
constexpr char kCanonical[] = R"(  z = f32[] constant(0)
  n = f32[] constant(nan)
  az = pred[] compare(a, z), direction=EQ
  a1 = f32[] select(az, z, a)
  an = pred[] compare(a, a), direction=NE
  a2 = f32[] select(an, n, a1)
  bz = pred[] compare(b, z), direction=EQ
  b1 = f32[] select(bz, z, b)
  bn = pred[] compare(b, b), direction=NE
  b2 = f32[] select(bn, n, b1)
  ROOT r = pred[] compare(a2, b2), direction=LT, type=TOTALORDER)";

std::string windows(const std::string& type, const std::string& sizes, const std::string& window,
                    const std::string& opcode = "add", const std::string& first = "0") {
  return fmt::format(R"(HloModule one
sum {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT r = {0}[] {3}(a, b)
}}
ENTRY main {{
  x = {0}[{1}] parameter(0)
  z = {0}[] constant({4})
  ROOT y = {0}[{1}] reduce-window(x, z), window={{{2}}}, to_apply=sum
}}
)",
                     type, sizes, window, opcode, first);
}

std::string dot(const std::string& left, const std::string& right, const std::string& result,
                const std::string& dimensions) {
  return fmt::format(
      "HloModule one\nENTRY main {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT c = {} dot(a, b), {}\n}}\n",
      left, right, result, dimensions);
}

}  // namespace

TEST_CASE("sorts by Highway give what XLA's give", "[tune]") {
  if (no_worker()) return;
  if (!has_highway_sort()) return skip_case("libhwy1 is not installed");
  Session session(with_worker());
  struct Case {
    std::string comparator;
    std::vector<std::string> types;
    const char* factor = "1";
  };
  const Case cases[] = {
      {kLess, {"f32"}},
      {kGreater, {"f32"}},
      {kSwapped, {"f32"}},
      {kTotal, {"f32"}},
      {kCanonical, {"f32"}},
      {kLess, {"s32"}},
      {kGreater, {"u32"}},
      {kTotal, {"bf16"}},
      {kLess, {"f16"}},
      {kGreater, {"f32", "s32"}},
      {kSecond, {"f64", "f32"}},
      {kCanonical, {"f32", "s8"}},
      // Nothing but equal keys, and keys of both signs of zero: others keep their order.
      {kLess, {"f32", "s32"}, "0"},
      {kCanonical, {"f32", "s32"}, "0"},
  };
  for (const Case& c : cases)
    for (const int dimension : {0, 1}) {
      const std::string program = sort(c.comparator, c.types, dimension, c.factor);
      INFO(program);
      CHECK(check_other_form(session, program, FamilyId::Sort).find("hone.sort") != std::string::npos);
    }
}

TEST_CASE("programs from elsewhere cannot call our kernels", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string program =
      "HloModule one\nENTRY main {\n  x = f32[4] parameter(0)\n  ROOT s = f32[4] custom-call(x), "
      "custom_call_target=\"hone.sort\", backend_config=\"2 0 0 0 0 1 4000000 4 \"\n}\n";
  CHECK_THROWS_WITH(session.load(program, "one"), Catch::Contains("Hone's own"));
}

TEST_CASE("sorts by something else than one key stay", "[tune]") {
  if (no_worker()) return;
  if (!has_highway_sort()) return skip_case("libhwy1 is not installed");
  Session session(with_worker());
  const std::string two_keys = R"(  e = pred[] compare(a, b), direction=EQ
  l = pred[] compare(a, b), direction=LT
  m = pred[] compare(c, d), direction=LT
  ROOT r = pred[] select(e, m, l))";
  CHECK_FALSE(offers(session, sort(two_keys, {"f32", "f32"}, 1), FamilyId::Sort));
  CHECK_FALSE(offers(session, sort("  ROOT r = pred[] compare(a, b), direction=LE", {"f32"}, 1), FamilyId::Sort));
  CHECK_FALSE(offers(session, sort(kLess, {"f64"}, 1), FamilyId::Sort));
  CHECK_FALSE(
      offers(session, sort("  ROOT r = pred[] compare(a, d), direction=LT", {"f32", "f32"}, 1), FamilyId::Sort));
}

TEST_CASE("cumulative sums in one pass give what windows give", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const char* type : {"f32", "f64", "s32"})
    for (const auto& [sizes, window] : std::vector<std::pair<std::string, std::string>>{
             {"3,70", "size=1x70 pad=0_0x69_0"},
             {"3,70", "size=1x70 pad=0_0x0_69"},
             {"70,5", "size=70x1 pad=69_0x0_0"},
             {"2,9,4", "size=1x9x1 pad=0_0x0_8x0_0"},
             {"5000", "size=5000 pad=4999_0"},
         }) {
      INFO(type << "[" << sizes << "] " << window);
      const std::string hlo = check_other_form(session, windows(type, sizes, window), FamilyId::CumulativeSum);
      CHECK(hlo.find("hone.cumulative_sum") != std::string::npos);
    }
  CHECK_FALSE(offers(session, windows("f32", "3,70", "size=1x69 pad=0_0x68_0"), FamilyId::CumulativeSum));
  CHECK_FALSE(offers(session, windows("f32", "70", "size=70 pad=69_0", "maximum"), FamilyId::CumulativeSum));
  CHECK_FALSE(offers(session, windows("f32", "70", "size=70 pad=69_0", "add", "1"), FamilyId::CumulativeSum));
}

TEST_CASE("sums of all elements by vectors", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const auto sum_of = [](const std::string& shape, const std::string& dimensions, const std::string& of = "x",
                         const std::string& operation = "add", const std::string& first = "0") {
    const std::string type = shape.substr(0, 3);
    return fmt::format(
        "HloModule one\nreduced {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT r = {0}[] {1}(a, "
        "b)\n}}\n"
        "ENTRY main {{\n  x = {2} parameter(0)\n  y = {2} negate(x)\n  z = {0}[] constant({3})\n"
        "  s = {0}[] reduce({4}, z), dimensions={{{5}}}, to_apply=reduced\n"
        "  ROOT t = ({0}[], {2}) tuple(s, y)\n}}\n",
        type, operation, shape, first, of, dimensions);
  };
  for (const auto& [shape, dimensions] : std::vector<std::pair<std::string, std::string>>{
           {"f32[65536]", "0"}, {"f32[300,301]", "0,1"}, {"f64[300,301]", "0,1"}, {"f32[70001]{0}", "0"}}) {
    INFO(shape);
    const std::string hlo = check_other_form(session, sum_of(shape, dimensions), FamilyId::WholeSum);
    CHECK(hlo.find("hone.whole_sum") != std::string::npos);
  }
  CHECK_FALSE(offers(session, sum_of("f32[65535]", "0"), FamilyId::WholeSum));
  CHECK_FALSE(offers(session, sum_of("s32[65536]", "0"), FamilyId::WholeSum));
  CHECK_FALSE(offers(session, sum_of("f32[65536]", "0", "y"), FamilyId::WholeSum));  // computed with its sum
  CHECK_FALSE(offers(session, sum_of("f32[65536]", "0", "x", "maximum"), FamilyId::WholeSum));
  CHECK_FALSE(offers(session, sum_of("f32[65536]", "0", "x", "add", "1"), FamilyId::WholeSum));
}

TEST_CASE("small dots as sums of products and dots of bytes by oneDNN", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string programs[] = {
      dot("f32[64,5,7]", "f32[64,7,3]", "f32[64,5,3]",
          "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
      dot("f32[7,2,40,5]", "f32[2,3,40,7]", "f32[2,40,5,3]",
          "lhs_batch_dims={1,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={0}, rhs_contracting_dims={3}"),
      dot("f64[80,4]", "f64[80,4]", "f64[80]",
          "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
      dot("s8[37,65]", "s8[65,21]", "s32[37,21]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
      dot("s8[3,65,4]", "s8[21,65]", "s32[3,4,21]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
  };
  for (const std::string& program : programs) {
    INFO(program);
    const std::string hlo = check_other_form(session, program, FamilyId::SmallDot);
    CHECK(hlo.find(" dot(") == std::string::npos);
  }
  CHECK_FALSE(offers(session,
                     dot("u8[37,65]", "s8[65,21]", "s32[37,21]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
                     FamilyId::SmallDot));
  CHECK_FALSE(offers(session,
                     dot("f32[64,5,70]", "f32[64,70,3]", "f32[64,5,3]",
                         "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
                     FamilyId::SmallDot));
}

TEST_CASE("attention divides after its second dot", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const auto attention = [](const std::string& scores, const std::string& sums) {
    return fmt::format(R"(HloModule one
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}}
ENTRY main {{
  q = f32[2,3,40,8] parameter(0)
  k = f32[2,3,50,8] parameter(1)
  v = f32[2,3,50,6] parameter(2)
  m = pred[40,50] parameter(3)
  c = f32[] constant(0.25)
  z = f32[] constant(0)
  w = f32[] constant(-1e9)
  cs = f32[2,3,40,50] broadcast(c), dimensions={{}}
  ws = f32[2,3,40,50] broadcast(w), dimensions={{}}
  ms = pred[2,3,40,50] broadcast(m), dimensions={{2,3}}
  d = f32[2,3,40,50] dot(q, k), lhs_batch_dims={{0,1}}, rhs_batch_dims={{0,1}}, lhs_contracting_dims={{3}}, rhs_contracting_dims={{3}}
  s = f32[2,3,40,50] {}
  e = f32[2,3,40,50] exponential(s)
  l = f32[2,3,40] reduce(e, z), dimensions={{3}}, to_apply=add
  r = f32[2,3,40,1] reshape(l)
  r2 = f32[2,3,40] reshape(r)
  ls = f32[2,3,40,50] {}
  p = f32[2,3,40,50] divide(e, ls)
  ROOT o = f32[2,3,40,6] dot(p, v), lhs_batch_dims={{0,1}}, rhs_batch_dims={{0,1}}, lhs_contracting_dims={{3}}, rhs_contracting_dims={{2}}
}}
)",
                       scores, sums);
  };
  const std::string rows = "broadcast(r2), dimensions={0,1,2}";
  for (const char* scores : {"multiply(d, cs)", "divide(d, cs)", "add(d, cs)"}) {
    const std::string hlo = check_other_form(session, attention(scores, rows), FamilyId::Attention);
    CHECK(hlo.find("f32[2,3,40,6]{3,2,1,0} divide(") != std::string::npos);
  }
  std::string masked = attention("select(ms, t, ws)", rows);
  masked.insert(masked.find("  s = "), "  t = f32[2,3,40,50] multiply(d, cs)\n");
  check_other_form(session, masked, FamilyId::Attention);
  CHECK_FALSE(offers(session, attention("multiply(d, cs)", "exponential(cs)"), FamilyId::Attention));
  std::string columns = attention("multiply(d, cs)", "broadcast(u), dimensions={0,1,3}");
  columns.insert(columns.find("  ls = "), "  u = f32[2,3,50] reduce(e, z), dimensions={2}, to_apply=add\n");
  CHECK_FALSE(offers(session, columns, FamilyId::Attention));
}

TEST_CASE("powers by an exponential function have IEEE 754's results for all numbers", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const char* exponent : {"2.3", "-1.7", "0.1", "15.6"})
    for (const char* values : {"abs(p)", "negate(p)", "multiply(p, p)"}) {
      // Where the result is no number is a result of its own.
      const std::string program = fmt::format(R"(HloModule one
ENTRY main {{
  p = f32[48,32] parameter(0)
  x = f32[48,32] {}
  e = f32[] constant({})
  f = f32[48,32] broadcast(e), dimensions={{}}
  r = f32[48,32] power(x, f)
  n = pred[48,32] compare(r, r), direction=NE
  z = f32[] constant(0)
  o = f32[48,32] broadcast(z), dimensions={{}}
  s = f32[48,32] select(n, o, r)
  ROOT t = (f32[48,32], pred[48,32]) tuple(s, n)
}}
)",
                                              values, exponent);
      INFO(program);
      check_other_form(session, program, FamilyId::Power);
    }
}

TEST_CASE("loops of a few steps are written out", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const auto loop = [](int steps, const std::string& work) {
    return fmt::format(R"(HloModule one
step {{
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  f = f32[] convert(i)
  g = f32[64] broadcast(f), dimensions={{}}
  y = f32[64] {}
  ROOT t = (s32[], f32[64]) tuple(j, y)
}}
more {{
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({})
  ROOT r = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  x = f32[64] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[64]) tuple(z, x)
  w = (s32[], f32[64]) while(s), condition=more, body=step
  ROOT y = f32[64] get-tuple-element(w), index=1
}}
)",
                       work, steps);
  };
  const std::string hlo = check_other_form(session, loop(5, "add(x, g)"), FamilyId::ShortLoop);
  CHECK(hlo.find(" while(") == std::string::npos);
  CHECK_FALSE(offers(session, loop(9, "add(x, g)"), FamilyId::ShortLoop));
  CHECK_FALSE(offers(session, loop(5, "custom-call(x, g), custom_call_target=\"unknown\""), FamilyId::ShortLoop));
}

TEST_CASE("dots of f32 with a few rows are computed by a kernel, the weights read as they are stored", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const auto dot = [](const std::string& left, const std::string& weights, const std::string& right, int contracted) {
    return fmt::format(R"(HloModule one
ENTRY main {{
  x = f32[{}] parameter(0)
  w = {}
  ROOT d = f32[{},200] dot(x, {}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{{}}}
}}
)",
                       left, weights, left.substr(0, 1), right, contracted);
  };
  for (const std::string rows : {"1,150", "4,150"}) {
    check_other_form(session, dot(rows, "f32[150,200] parameter(1)", "w", 0), FamilyId::FloatDot);
    check_other_form(session, dot(rows, "f32[200,150] parameter(1)", "w", 1), FamilyId::FloatDot);
    const std::string turned =
        dot(rows, "f32[200,150] parameter(1)\n  t = f32[150,200] transpose(w), dimensions={1,0}", "t", 0);
    CHECK(check_other_form(session, turned, FamilyId::FloatDot).find("transpose") == std::string::npos);
  }
  CHECK_FALSE(offers(session, dot("5,150", "f32[150,200] parameter(1)", "w", 0), FamilyId::FloatDot));  // too many rows
  CHECK_FALSE(offers(session, R"(HloModule one
ENTRY main {
  x = f32[1,15] parameter(0)
  w = f32[15,20] parameter(1)
  ROOT d = f32[1,20] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)",
                     FamilyId::FloatDot));  // a small matrix
}

}  // namespace hone::tune
