// Activations after a dot that oneDNN computes, as JAX, Keras and PyTorch write them, on the real compiler; skipped where worker or library
// are missing.
#include <fmt/core.h>

#include <regex>

#include "graph/operation_key.h"
#include "kernels/dnnl_library.h"
#include "tests/skip.h"
#include "tests/tune/program/other_form.h"
#include "tune/session/decision_list.h"

namespace hone::tune {
namespace {

// `x` is the dot. A number stands for an array of it, and every line for an array of f32 like the dot, unless it begins with "pred".
std::string program_of(const std::string& lines) {
  static const std::regex number("#(-?[0-9.e-]+)");
  std::string text = R"(HloModule one
ENTRY main {
  a = f32[40,150] parameter(0)
  w = f32[150,200] parameter(1)
  x = f32[40,200] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)";
  std::string rest = lines;
  int count = 0;
  for (std::smatch found; std::regex_search(rest, found, number); ++count) {
    text += fmt::format("  n{0} = f32[] constant({1})\n  c{0} = f32[40,200] broadcast(n{0}), dimensions={{}}\n", count,
                        found[1].str());
    rest = std::regex_replace(rest, number, fmt::format("c{}", count), std::regex_constants::format_first_only);
  }
  return text + std::regex_replace(rest, std::regex(" = (?!pred)"), " = f32[40,200] ") + "\n}\n";
}

struct Written {
  const char *what, *step, *lines;
};

constexpr Written kWritten[] = {{"GELU by erf", "gelu_erf", R"(  h = multiply(x, #0.5)
  s = multiply(x, #0.70710678)
  e = erf(s)
  o = add(e, #1)
  ROOT r = multiply(h, o))"},
                                {"the same, divided and in another order", "gelu_erf", R"(  s = divide(x, #1.41421356)
  e = erf(s)
  o = add(#1, e)
  p = multiply(o, x)
  ROOT r = multiply(#0.5, p))"},
                                {"GELU by tanh", "gelu_tanh", R"(  q = multiply(x, x)
  p = multiply(q, x)
  k = multiply(p, #0.044715)
  s = add(x, k)
  z = multiply(s, #0.797884583)
  t = tanh(z)
  o = add(t, #1)
  h = multiply(o, #0.5)
  ROOT r = multiply(x, h))"},
                                {"GELU by tanh, with a power", "gelu_tanh", R"(  p = power(x, #3)
  k = multiply(p, #0.044715)
  s = add(x, k)
  z = multiply(s, #0.797884583)
  t = tanh(z)
  o = add(t, #1)
  m = multiply(x, o)
  ROOT r = multiply(m, #0.5))"},
                                {"hard-swish", "hardswish", R"(  t = add(x, #3)
  l = maximum(t, #0)
  u = minimum(l, #6)
  d = divide(u, #6)
  ROOT r = multiply(x, d))"},
                                {"hard-swish by clamp", "hardswish", R"(  t = add(x, #3)
  u = clamp(#0, t, #6)
  m = multiply(x, u)
  ROOT r = multiply(m, #0.16666667))"},
                                {"leaky ReLU", "relu", R"(  p = pred[40,200] compare(x, #0), direction=GE
  m = multiply(x, #0.2)
  ROOT r = select(p, x, m))"},
                                {"leaky ReLU by maximum", "relu", R"(  m = multiply(x, #0.1)
  ROOT r = maximum(x, m))"},
                                {"ELU", "elu", R"(  p = pred[40,200] compare(x, #0), direction=GT
  s = select(p, #0, x)
  m = exponential-minus-one(s)
  ROOT r = select(p, x, m))"},
                                {"swish by an exponential", "swish", R"(  m = negate(x)
  e = exponential(m)
  o = add(e, #1)
  d = divide(#1, o)
  ROOT r = multiply(x, d))"},
                                {"swish of another slope", "swish", R"(  m = multiply(x, #1.702)
  l = logistic(m)
  ROOT r = multiply(x, l))"},
                                {"softplus", "soft_relu", R"(  m = maximum(x, #0)
  b = abs(x)
  n = negate(b)
  e = exponential(n)
  l = log-plus-one(e)
  ROOT r = add(m, l))"},
                                {"Mish", "mish", R"(  m = maximum(x, #0)
  b = abs(x)
  n = negate(b)
  e = exponential(n)
  l = log-plus-one(e)
  s = add(m, l)
  t = tanh(s)
  ROOT r = multiply(t, x))"}};

constexpr Written kOthers[] = {{"another factor than GELU's", "gelu", R"(  h = multiply(x, #0.5)
  s = multiply(x, #0.72)
  e = erf(s)
  o = add(e, #1)
  ROOT r = multiply(h, o))"},
                               {"a hard-swish with other bounds", "hardswish", R"(  t = add(x, #3)
  u = clamp(#0, t, #5)
  m = multiply(x, u)
  ROOT r = multiply(m, #0.16666667))"}};

std::string lowered(Session& session, const std::string& program) {
  const std::vector<Dimension> found = dimensions_of(session, program, FamilyId::FloatDot);
  REQUIRE(found.size() == 1);
  const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, kOneDnn}};
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note << "\n" << program);
  CHECK(m.ok());
  return session.lower(decisions, false).hlo;
}

bool no_onednn() {
  if (no_worker()) return true;
  if (dnnl_library() != nullptr) return false;
  skip_case("oneDNN is not installed");
  return true;
}

}  // namespace

TEST_CASE("activations are steps of oneDNN's, however they are written", "[tune]") {
  if (no_onednn()) return;
  Session session(with_worker());
  for (const Written& w : kWritten) {
    INFO(w.what);
    const std::string hlo = lowered(session, program_of(w.lines));
    CHECK(hlo.find(fmt::format("\\\"name\\\":\\\"{}\\\"", w.step)) != std::string::npos);
    CHECK(hlo.find("fusion(") == std::string::npos);
  }
}

TEST_CASE("what is near an activation is none", "[tune]") {
  if (no_onednn()) return;
  Session session(with_worker());
  for (const Written& w : kOthers) {
    INFO(w.what);
    CHECK(lowered(session, program_of(w.lines)).find(w.step) == std::string::npos);
  }
}

TEST_CASE("an activation of which a part is used otherwise stays in the program", "[tune]") {
  if (no_onednn()) return;
  Session session(with_worker());
  std::string program = program_of(R"(  m = multiply(x, #1.702)
  l = logistic(m)
  y = multiply(x, l))");
  program.insert(program.rfind('}'), "  ROOT t = (f32[40,200], f32[40,200]) tuple(y, l)\n");
  CHECK(lowered(session, program).find("swish") == std::string::npos);
}

}  // namespace hone::tune
