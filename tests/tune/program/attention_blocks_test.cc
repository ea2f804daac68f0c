// Attention in blocks on the real compiler; skipped where the worker is not built.
#include <fmt/core.h>

#include <set>

#include "tests/tune/program/other_form.h"

namespace hone::tune {
namespace {

constexpr char kHeads[] = R"(  q = f32[2,3,40,8] parameter(0)
  k = f32[2,3,50,8] parameter(1)
  v = f32[2,3,50,6] parameter(2)
)";
constexpr char kHeadsInside[] = R"(  pq = f32[2,40,3,8] parameter(0)
  pk = f32[2,50,3,8] parameter(1)
  pv = f32[2,50,3,6] parameter(2)
  q = f32[2,3,40,8] transpose(pq), dimensions={0,2,1,3}
  k = f32[2,3,50,8] transpose(pk), dimensions={0,2,1,3}
  v = f32[2,3,50,6] transpose(pv), dimensions={0,2,1,3}
)";
constexpr char kDot[] =
    "  d = f32[2,3,40,50] dot(q, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
    "rhs_contracting_dims={3}\n";
constexpr char kKeysFirst[] =
    R"(  kq = f32[2,3,50,40] dot(k, q), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={3}
  d = f32[2,3,40,50] transpose(kq), dimensions={0,1,3,2}
)";
constexpr char kScaled[] = "  s = f32[2,3,40,50] multiply(d, cs)\n";
constexpr char kMasked[] = R"(  t = f32[2,3,40,50] divide(d, cs)
  m = pred[2,40,50] parameter(3)
  ms = pred[2,3,40,50] broadcast(m), dimensions={0,2,3}
  s = f32[2,3,40,50] select(ms, t, ws)
)";
constexpr char kFilled[] = R"(  m = pred[50,40] parameter(3)
  mt = pred[40,50] transpose(m), dimensions={1,0}
  ms = pred[2,3,40,50] broadcast(mt), dimensions={2,3}
  s = f32[2,3,40,50] select(ms, ws, d)
)";
constexpr char kBiased[] = R"(  b = f32[3,40,50] parameter(3)
  bs = f32[2,3,40,50] broadcast(b), dimensions={1,2,3}
  t = f32[2,3,40,50] add(bs, d)
  s = f32[2,3,40,50] multiply(t, cs)
)";
constexpr char kChosen[] = R"(  b = f32[3,40,50] parameter(3)
  m = pred[2,50] parameter(4)
  bs = f32[2,3,40,50] broadcast(b), dimensions={1,2,3}
  ms = pred[2,3,40,50] broadcast(m), dimensions={0,3}
  c = f32[2,3,40,50] select(ms, bs, ws)
  s = f32[2,3,40,50] add(d, c)
)";
constexpr char kMaximum[] = R"(  x = f32[2,3,40] reduce(s, l), dimensions={3}, to_apply=max
)";
constexpr char kMaximumOfTwo[] = R"(  x2 = f32[2,3,40] reduce(s, l), dimensions={3}, to_apply=max
  l2 = f32[2,3,40] broadcast(l), dimensions={}
  x = f32[2,3,40] maximum(l2, x2)
)";
constexpr char kSoftmax[] = R"(softmax {
  s = f32[2,3,40,50] parameter(0)
  z = f32[] constant(0)
  l = f32[] constant(-inf)
)";
constexpr char kResult[] =
    "  ROOT o = f32[2,3,40,6] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, "
    "lhs_contracting_dims={3}, rhs_contracting_dims={2}\n";
constexpr char kTurned[] =
    "  o = f32[2,3,40,6] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, "
    "lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"
    "  ROOT r = f32[2,40,3,6] transpose(o), dimensions={0,2,1,3}\n";

std::string attention(const std::string& operands, const std::string& dot, const std::string& scores,
                      const std::string& maximum, const std::string& result = kResult) {
  return fmt::format(R"(HloModule one
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}}
max {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b)
}}
ENTRY main {{
  z = f32[] constant(0)
  l = f32[] constant(-inf)
  w = f32[] constant(-20)
  f = f32[] constant(0.25)
  cs = f32[2,3,40,50] broadcast(f), dimensions={{}}
  ws = f32[2,3,40,50] broadcast(w), dimensions={{}}
{}{}{}{}  xr = f32[2,3,40,1] reshape(x)
  xs = f32[2,3,40] reshape(xr)
  xb = f32[2,3,40,50] broadcast(xs), dimensions={{0,1,2}}
  u = f32[2,3,40,50] subtract(s, xb)
  e = f32[2,3,40,50] exponential(u)
  y = f32[2,3,40] reduce(e, z), dimensions={{3}}, to_apply=add
  yb = f32[2,3,40,50] broadcast(y), dimensions={{0,1,2}}
  p = f32[2,3,40,50] divide(e, yb)
{}}}
)",
                     operands, dot, scores, maximum, result);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

std::string everywhere(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// The program with its softmax in a function.
std::string with_called_softmax(std::string text) {
  const size_t from = text.find("  x = "), to = text.find('\n', text.find("  p = ")) + 1;
  const std::string body = replaced(text.substr(from, to - from), "  p = ", "  ROOT p = ");
  text.replace(from, to - from, "  p = f32[2,3,40,50] call(s), to_apply=softmax\n");
  return replaced(text, "ENTRY", kSoftmax + body + "}\nENTRY");
}

bool offers_blocks(Session& session, const std::string& program) {
  for (const Dimension& d : dimensions_of(session, program, FamilyId::Attention))
    for (const std::string& option : d.options)
      if (option == "blocks") return true;
  return false;
}

}  // namespace

TEST_CASE("attention in blocks gives what dots and a softmax give", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  std::vector<std::string> programs;
  for (const char* scores : {kScaled, kMasked, kFilled, kBiased, kChosen}) {
    programs.push_back(attention(kHeads, kDot, scores, kMaximum));
    programs.push_back(attention(kHeadsInside, kKeysFirst, scores, kMaximumOfTwo, kTurned));
  }
  // One key and value for all heads.
  programs.push_back(
      attention("  q = f32[2,3,40,8] parameter(0)\n  k = f32[2,50,8] parameter(1)\n  v = f32[2,50,6] parameter(2)\n",
                "  d = f32[2,3,40,50] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, "
                "rhs_contracting_dims={2}\n",
                kMasked, kMaximum,
                "  ROOT o = f32[2,3,40,6] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={3}, "
                "rhs_contracting_dims={1}\n"));
  // The softmax as the second operand, of scores in another order than their maximum was taken of.
  std::string second = attention(kHeads, kDot, kScaled, kMaximum,
                                 "  o = f32[3,2,6,40] dot(v, p), lhs_batch_dims={1,0}, rhs_batch_dims={1,0}, "
                                 "lhs_contracting_dims={2}, rhs_contracting_dims={3}\n"
                                 "  o2 = f32[2,3,40,6] transpose(o), dimensions={1,0,3,2}\n"
                                 "  ROOT r = f32[2,40,3,6] transpose(o2), dimensions={0,2,1,3}\n");
  programs.push_back(second);
  programs.push_back(replaced(replaced(second, "(s, l), dimensions={3}", "(st, l), dimensions={2}"),
                              "  x = ", "  st = f32[2,3,50,40] transpose(s), dimensions={0,1,3,2}\n  x = "));
  // A mask by a called function, as JAX writes it.
  std::string called = attention(kHeads, kDot, kMasked, kMaximum);
  called =
      replaced(called, "  s = f32[2,3,40,50] select(ms, t, ws)", "  s = f32[2,3,40,50] call(ms, t, w), to_apply=where");
  programs.push_back(replaced(called, "ENTRY", R"(where {
  m = pred[2,3,40,50] parameter(0)
  t = f32[2,3,40,50] parameter(1)
  w = f32[] parameter(2)
  ws = f32[2,3,40,50] broadcast(w), dimensions={}
  ROOT r = f32[2,3,40,50] select(m, t, ws)
}
ENTRY)"));
  programs.push_back(with_called_softmax(attention(kHeads, kDot, kScaled, kMaximum)));
  for (const std::string& program : programs) {
    INFO(program);
    const std::vector<Dimension> found = dimensions_of(session, program, FamilyId::Attention);
    REQUIRE(found.size() == 1);
    REQUIRE(offers_blocks(session, program));
    const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, "blocks"}};
    const Measurement m = session.measure_program(decisions, {}, kOnce);
    INFO(m.note);
    CHECK(m.ok());
    const std::string hlo = session.lower(decisions, false).hlo;
    CHECK(hlo.find("hone.attention") != std::string::npos);
    CHECK(hlo.find(" dot(") == std::string::npos);
    CHECK(hlo.find("exponential") == std::string::npos);
  }
}

TEST_CASE("what is no softmax between two dots is not offered in blocks", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string program =
      replaced(attention(kHeads, kDot, kScaled, kMaximum),
               "  x = ", "  sr = f32[2,3,50,40] reshape(s)\n  sq = f32[2,3,50,40] add(sr, sr)\n  x = ");
  REQUIRE(offers_blocks(session, program));
  const std::pair<const char*, const char*> changes[] = {
      {"l = f32[] constant(-inf)", "l = f32[] constant(0)"},
      {"z = f32[] constant(0)", "z = f32[] constant(1)"},
      {"subtract(s, xb)", "subtract(d, xb)"},
      {"exponential(u)", "exponential(s)"},
      {"reduce(e, z), dimensions={3}", "reduce(u, z), dimensions={3}"},
      {"dimensions={3}, to_apply=max", "dimensions={3}, to_apply=add"},
      {"multiply(d, cs)", "multiply(d, d)"},
      // The maximum of other elements than it is subtracted from.
      {"reduce(s, l), dimensions={3}", "reduce(sq, l), dimensions={2}"},
  };
  for (const auto& [from, to] : changes) {
    INFO(from << " -> " << to);
    CHECK_FALSE(offers_blocks(session, replaced(program, from, to)));
  }
  CHECK_FALSE(offers_blocks(session, everywhere(program, "40", "4")));
  CHECK_FALSE(offers_blocks(session, everywhere(program, "f32", "f64")));
}

TEST_CASE("a softmax over the queries is not offered in blocks, where there are as many as keys", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string square = everywhere(attention(kHeads, kDot, kScaled, kMaximum), "50", "40");
  REQUIRE(offers_blocks(session, square));
  const std::pair<const char*, const char*> changes[] = {
      {"reduce(s, l), dimensions={3}", "reduce(s, l), dimensions={2}"},
      {"broadcast(xs), dimensions={0,1,2}", "broadcast(xs), dimensions={0,1,3}"},
      {"reduce(e, z), dimensions={3}", "reduce(e, z), dimensions={2}"},
      {"broadcast(y), dimensions={0,1,2}", "broadcast(y), dimensions={0,1,3}"},
  };
  std::string all = square;
  for (const auto& [from, to] : changes) {
    INFO(from << " -> " << to);
    CHECK_FALSE(offers_blocks(session, replaced(square, from, to)));
    all = replaced(all, from, to);
  }
  INFO(all);
  CHECK_FALSE(offers_blocks(session, all));
}

TEST_CASE("attention in blocks takes the dot of its scores, whatever is decided about it", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  // Products of many small matrices have a form of their own.
  const std::string program = everywhere(attention(kHeads, kDot, kScaled, kMaximum), "f32[2,3,", "f32[8,8,");
  const Decisions of_scores = other_form(session, program, FamilyId::SmallDot);
  const std::vector<Dimension> found = dimensions_of(session, program, FamilyId::Attention);
  REQUIRE(found.size() == 1);
  const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, "blocks"}, of_scores[0]};
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note);
  CHECK(m.ok());
  const std::string hlo = session.lower(decisions, false).hlo;
  CHECK(hlo.find("hone.attention") != std::string::npos);
  CHECK(hlo.find(" dot(") == std::string::npos);
}

TEST_CASE("attentions that share a key need not all have its forms", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string second = R"(  o = f32[2,3,40,6] dot(p, v), {0}
  g = f32[2,3,40,50] parameter(3)
  h = f32[2,3,40,50] exponential(g)
  hy = f32[2,3,40] reduce(h, z), dimensions={3}, to_apply=add
  hb = f32[2,3,40,50] broadcast(hy), dimensions={0,1,2}
  hp = f32[2,3,40,50] divide(h, hb)
  ho = f32[2,3,40,6] dot(hp, v), {0}
  ROOT r = (f32[2,3,40,6], f32[2,3,40,6]) tuple(FIRST)
)";
  const std::string numbers =
      "lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}";
  for (const char* order : {"o, ho", "ho, o"}) {
    const std::string result = replaced(everywhere(second, "{0}", numbers), "FIRST", order);
    const std::string program = attention(kHeads, kDot, kScaled, kMaximum, result);
    INFO(program);
    const std::vector<Dimension> found = dimensions_of(session, program, FamilyId::Attention);
    REQUIRE(found.size() == 1);
    CHECK(found[0].count == 2);
    CHECK(std::set<std::string>(found[0].options.begin(), found[0].options.end()) ==
          std::set<std::string>{kNotRewritten, "blocks", "late-division"});
    const std::string hlo = session.lower({{DecisionKind::Rewrite, found[0].key, "blocks"}}, false).hlo;
    CHECK(hlo.find("hone.attention") != std::string::npos);
    CHECK(hlo.find(" dot(") != std::string::npos);
    CHECK_THROWS_WITH(session.lower({{DecisionKind::Rewrite, found[0].key, "shifted"}}, false),
                      Catch::Contains("shifted"));
  }
}

}  // namespace hone::tune
