// Verification by a worker with scripted replies (tests/wire/fake_worker.cc), and by XLA itself where it is built.
#include "request/verify.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/files.h"
#include "request/random_decisions.h"
#include "tests/tune/real_worker.h"

namespace hone::request {
namespace {

using tune::Session;

Decisions planted(const std::string& value) { return {{DecisionKind::Option, "verdict", value}}; }

std::vector<VerifyRow> verified(Session& session, std::vector<Decisions> given, int candidates = 0) {
  VerifyOptions options;
  options.candidates = candidates;
  options.given = std::move(given);
  for (const InputKindTraits& row : input_kinds()) options.kinds.push_back(row.kind);
  options.limit_s = 60;
  options.on_row = [](VerifyRow&) {};
  options.on_progress = [](int, int) {};
  return verify(session, options);
}

std::vector<VerifyRow> by_fake_worker(const std::string& program, const Decisions& candidate) {
  tune::SessionOptions options;
  options.worker.program = HONE_BUILD_DIR "/fake_worker";
  Session session(options);
  session.load("", program);
  std::vector<VerifyRow> rows = verified(session, {candidate});
  REQUIRE(rows.size() > 2);
  return rows;
}

constexpr char kDifference[] = R"(HloModule difference
ENTRY main {
  a = f32[64] parameter(0)
  d = f32[64] subtract(a, a)
  i = f32[64] iota(), iota_dimension=0
  ROOT s = f32[64] add(d, i)
}
)";
// x - x = 0 holds for finite numbers alone.
const Decisions kWrong = {{DecisionKind::Passes, "order", "algsimp:real"}};

constexpr char kDot[] = R"(HloModule dot
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT m = f32[] add(x, y) }
ENTRY main {
  a = f32[64,128] parameter(0)
  w = f32[128,96] parameter(1)
  zero = f32[] constant(0)
  d = f32[64,96] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,96] exponential(d)
  s = f32[64] reduce(e, zero), dimensions={1}, to_apply=add
  sb = f32[64,96] broadcast(s), dimensions={0}
  ROOT q = f32[64,96] divide(e, sb)
}
)";

// One step has 10,000 multiplications.
std::string loop_of(int steps) {
  return fmt::format(R"(HloModule loop
body {{
  s = (s32[], f32[100,100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[100,100] get-tuple-element(s), index=1
  one = s32[] constant(1)
  n = s32[] add(i, one)
  y = f32[100,100] multiply(x, x)
  ROOT r = (s32[], f32[100,100]) tuple(n, y)
}}
condition {{
  s = (s32[], f32[100,100]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  k = s32[] constant({})
  ROOT r = pred[] compare(i, k), direction=LT
}}
ENTRY main {{
  x = f32[100,100] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[100,100]) tuple(z, x)
  l = (s32[], f32[100,100]) while(s), condition=condition, body=body
  ROOT y = f32[100,100] get-tuple-element(l), index=1
}}
)",
                     steps);
}

}  // namespace

TEST_CASE("every pair of decisions and inputs is a row with its status", "[verify]") {
  // Two kinds apply: each has default XLA's own row, the interpreter's and the candidate's.
  struct Case {
    std::string value;
    VerifyStatus status;
  };
  for (const Case& c : {Case{"0", VerifyStatus::Equal}, Case{"1", VerifyStatus::Differs},
                        Case{"2", VerifyStatus::Unverifiable}, Case{"3", VerifyStatus::CompileFailed},
                        Case{"6", VerifyStatus::RunFailed}, Case{"crash", VerifyStatus::Crashed}}) {
    INFO(c.value);
    const std::vector<VerifyRow> rows = by_fake_worker("a", planted(c.value));
    REQUIRE(rows.size() == 6);
    for (size_t i = 0; i < 4; ++i) CHECK(rows[i].interpreter == (i % 2 == 1));
    CHECK(rows[0].status == VerifyStatus::Equal);
    CHECK(rows[1].status == VerifyStatus::Unverifiable);
    for (size_t i : {4, 5}) {
      CHECK(rows[i].status == c.status);
      CHECK(rows[i].decisions == planted(c.value));
    }
    CHECK(rows[4].inputs == InputKind::Ordinary);
    CHECK(rows[5].inputs == InputKind::Special);
    const bool fault = c.value != "0" && c.value != "2";
    CHECK(is_fault(rows[4].status) == fault);
  }
}

TEST_CASE("a row says where the first difference is", "[verify]") {
  const std::vector<VerifyRow> rows = by_fake_worker("a", planted("1"));
  const nlohmann::json row = to_json(rows.back(), 3);
  CHECK(row["status"] == "differs");
  CHECK(row["index"] == std::vector<int>{1, 2});
  CHECK(row["output"] == 0);
  CHECK(row["expected"] == "nan");
  CHECK(row["found"] == "special");
  CHECK(row["seed"] == 3);
  CHECK(row["decisions"] == "option verdict=1");
  CHECK(to_json(rows.front(), 0)["output"].is_null());
}

TEST_CASE("a candidate that crashes is not tried on further inputs", "[verify]") {
  const std::vector<VerifyRow> rows = by_fake_worker("a", planted("crash"));
  CHECK(rows[4].check.note.find("has_layout") != std::string::npos);
  CHECK(rows[5].check.note == "not tried again: so on ordinary inputs");
}

TEST_CASE("where default XLA fails nothing is verified", "[verify]") {
  const std::vector<VerifyRow> rows = by_fake_worker("unsound", planted("0"));
  for (const VerifyRow& row : rows)
    if (row.inputs == InputKind::Special) CHECK(row.status == VerifyStatus::Unverifiable);
  CHECK(rows.back().check.note == "no");
  CHECK(rows[rows.size() - 2].status == VerifyStatus::Equal);
}

TEST_CASE("a wrong decision that ordinary inputs do not show is found by special ones", "[verify]") {
  if (tune::no_worker()) return;
  Session session(tune::with_worker());
  session.load(kDifference, "difference");
  int special = 0;
  for (const VerifyRow& row : verified(session, {kWrong})) {
    if (row.interpreter || row.decisions.empty()) {
      CHECK_FALSE(is_fault(row.status));
      continue;
    }
    const bool shows = row.inputs == InputKind::Special;
    INFO(input_kind_name(row.inputs));
    CHECK((row.status == VerifyStatus::Differs) == shows);
    if (!shows) continue;
    ++special;
    CHECK(row.check.special > 0);
    CHECK(row.check.expected.find("nan") != std::string::npos);
  }
  CHECK(special == 1);
}

TEST_CASE("a loop is as large for the interpreter as its steps together", "[verify]") {
  if (tune::no_worker()) return;
  for (const auto& [steps, too_large] : {std::pair{3, false}, std::pair{9000, true}}) {
    Session session(tune::with_worker());
    session.load(loop_of(steps), "loop");
    int interpreted = 0;
    for (const VerifyRow& row : verified(session, {})) {
      if (!row.interpreter) continue;
      ++interpreted;
      INFO(row.check.note);
      CHECK((row.check.note.find("too large") != std::string::npos) == too_large);
      CHECK((row.status == VerifyStatus::Unverifiable) == too_large);
    }
    CHECK(interpreted > 0);
  }
}

TEST_CASE("reductions that the interpreter runs in steps have the results of default XLA", "[verify]") {
  if (tune::no_worker()) return;
  // By one operation, along odd and even sizes and several dimensions, from a number on; of two arrays at once, the first of equals.
  const std::string by = R"(HloModule reductions
f {{ x = {0}[] parameter(0)  y = {0}[] parameter(1)  ROOT z = {0}[] {1}(x, y) }}
ENTRY main {{
  a = {0}[7,26,15] parameter(0)
  i = {0}[] constant({2})
  r = {0}[26] reduce(a, i), dimensions={{0,2}}, to_apply=f
  s = {0}[7,26] reduce(a, i), dimensions={{2}}, to_apply=f
  ROOT t = ({0}[26], {0}[7,26]) tuple(r, s)
}}
)";
  const std::string first_largest = R"(HloModule largest
f {
  x = f32[] parameter(0)  i = s32[] parameter(1)  y = f32[] parameter(2)  j = s32[] parameter(3)
  c = pred[] compare(x, y), direction=GE
  v = f32[] select(c, x, y)
  w = s32[] select(c, i, j)
  ROOT z = (f32[], s32[]) tuple(v, w)
}
ENTRY main {
  a = f32[9,37] parameter(0)
  n = s32[9,37] iota(), iota_dimension=1
  l = f32[] constant(-inf)
  k = s32[] constant(0)
  r = (f32[9], s32[9]) reduce(a, n, l, k), dimensions={1}, to_apply=f
  v = f32[9] get-tuple-element(r), index=0
  w = s32[9] get-tuple-element(r), index=1
  ROOT t = (f32[9], s32[9]) tuple(v, w)
}
)";
  std::vector<std::string> programs = {first_largest};
  for (const auto& [type, operation, initial] : {std::tuple{"f32", "maximum", "0.25"},
                                                 {"f32", "minimum", "inf"},
                                                 {"f32", "multiply", "1"},
                                                 {"s32", "add", "3"},
                                                 {"s32", "xor", "5"}})
    programs.push_back(fmt::format(fmt::runtime(by), type, operation, initial));
  for (const std::string& program : programs) {
    INFO(program);
    Session session(tune::with_worker());
    session.load(program, "reductions");
    int equal = 0;
    for (const VerifyRow& row : verified(session, {})) {
      if (!row.interpreter || row.inputs == InputKind::Special) continue;  // default XLA's maximum may forget a NaN
      INFO(input_kind_name(row.inputs) << ": " << row.check.note);
      CHECK_FALSE(is_fault(row.status));
      if (row.status == VerifyStatus::Equal) ++equal;
    }
    CHECK(equal >= 2);
  }
}

TEST_CASE("the interpreter is quick with a large maximum", "[verify]") {
  if (tune::no_worker()) return;
  Session session(tune::with_worker());
  session.load(R"(HloModule large
f { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] maximum(x, y) }
ENTRY main {
  a = f32[1000,3000] parameter(0)
  l = f32[] constant(-inf)
  ROOT r = f32[1000] reduce(a, l), dimensions={1}, to_apply=f
}
)",
               "large");
  int interpreted = 0;
  for (const VerifyRow& row : verified(session, {})) {
    if (!row.interpreter || row.inputs != InputKind::Ordinary) continue;
    ++interpreted;
    CHECK(row.status == VerifyStatus::Equal);
  }
  CHECK(interpreted == 1);
}

TEST_CASE("the interpreter runs a reducer that is no arithmetic as it is", "[verify]") {
  if (tune::no_worker()) return;
  // Whether the number of false values is even.
  Session session(tune::with_worker());
  session.load(R"(HloModule parity
f { x = pred[] parameter(0)  y = pred[] parameter(1)  ROOT z = pred[] compare(x, y), direction=EQ }
ENTRY main {
  a = f32[9,37] parameter(0)
  b = f32[9,37] parameter(1)
  c = pred[9,37] compare(a, b), direction=LT
  t = pred[] constant(true)
  r = pred[9] reduce(c, t), dimensions={1}, to_apply=f
  ROOT s = s32[9] convert(r)
}
)",
               "parity");
  int interpreted = 0;
  for (const VerifyRow& row : verified(session, {})) {
    if (!row.interpreter || row.inputs != InputKind::Ordinary) continue;
    ++interpreted;
    INFO(row.check.note);
    CHECK(row.status == VerifyStatus::Equal);
  }
  CHECK(interpreted == 1);
}

TEST_CASE("random decisions are distinct, repeatable and of every kind", "[verify]") {
  if (tune::no_worker()) return;
  tune::SessionOptions options = tune::with_worker();
  options.target.weights = {1};
  Session session(options);
  session.load(kDot, "dot");
  const std::vector<Decisions> drawn = random_decisions(session, 30, 5);
  CHECK(drawn.size() == 30);
  CHECK(drawn == random_decisions(session, 30, 5));
  CHECK(drawn != random_decisions(session, 30, 6));
  CHECK(random_decisions(session, 0, 5).empty());
  std::set<Decisions> distinct(drawn.begin(), drawn.end());
  CHECK(distinct.size() == drawn.size());
  std::set<std::string> kinds;
  for (const Decisions& decisions : drawn) {
    CHECK_FALSE(decisions.empty());
    CHECK(std::is_sorted(decisions.begin(), decisions.end()));
    for (const Decision& d : decisions) kinds.insert(decision_kind_name(d.kind));
  }
  for (const char* kind : {"fusion", "codegen", "library", "weights", "option", "layout", "passes"}) {
    INFO(kind);
    CHECK(kinds.contains(kind));
  }
}

}  // namespace hone::request
