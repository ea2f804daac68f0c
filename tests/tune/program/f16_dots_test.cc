// Dots of f16 and of converted bytes on the real compiler; skipped where the worker is not built.
#include <fmt/core.h>

#include "graph/operation_key.h"
#include "kernels/dnnl_library.h"
#include "kernels/few_rows.h"
#include "tests/skip.h"
#include "tests/tune/program/other_form.h"

namespace hone::tune {
namespace {

std::string dot(const std::string& left, const std::string& right, const std::string& result,
                const std::string& dimensions) {
  return fmt::format(
      "HloModule one\nENTRY main {{\n  a = {} parameter(0)\n  b = {} parameter(1)\n  ROOT c = {} dot(a, b), {}\n}}\n",
      left, right, result, dimensions);
}

constexpr char kByDepth[] = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
constexpr char kByColumn[] = "lhs_contracting_dims={1}, rhs_contracting_dims={1}";

std::vector<std::string> forms_of(Session& session, const std::string& program) {
  const std::vector<Dimension> found = dimensions_of(session, program, FamilyId::HalfDot);
  if (found.empty()) return {};
  return {found[0].options.begin() + 1, found[0].options.end()};
}

}  // namespace

TEST_CASE("dots of f16 by a kernel for few rows and by oneDNN are those of XLA", "[tune]") {
  if (no_worker()) return;
  SessionOptions options = with_worker();
  options.target.weights = {1};
  Session session(options);
  const bool few = reads_element(RowsElement::F16), onednn = dnnl_library() != nullptr;
  struct Case {
    std::string program;
    bool few_rows;
  };
  const Case cases[] = {
      {dot("f16[1,700]", "f16[700,520]", "f16[1,520]", kByDepth), true},
      {dot("f16[1,700]", "f16[520,700]", "f16[1,520]", kByColumn), true},
      {dot("f16[4,700]", "f16[700,520]", "f32[4,520]", kByDepth), true},
      {dot("f16[9,700]", "f16[700,520]", "f16[9,520]", kByDepth), false},
      {dot("f16[3,5,700]", "f16[520,700]", "f32[3,5,520]", "lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
       false},
  };
  for (const Case& c : cases) {
    INFO(c.program);
    const std::vector<std::string> forms = forms_of(session, c.program);
    std::vector<std::string> wanted;
    if (few && c.few_rows)
      wanted.emplace_back(kFewRows);
    else if (onednn)
      wanted.emplace_back("onednn");
    CHECK(forms == wanted);
    const std::string key = dimensions_of(session, c.program, FamilyId::HalfDot).at(0).key;
    for (const std::string& form : forms) {
      INFO(form);
      const Decisions decisions = {{DecisionKind::Rewrite, key, form}};
      const Measurement m = session.measure_program(decisions, {}, kOnce);
      INFO(m.note);
      CHECK(m.ok());
      const std::string hlo = session.lower(decisions, false).hlo;
      CHECK(hlo.find(form == kFewRows ? "hone.few_rows" : "hone.dnnl") != std::string::npos);
      CHECK(hlo.find(" dot(") == std::string::npos);
    }
  }
}

TEST_CASE("converted bytes are read as bytes by dots of few rows, and as f32 by oneDNN", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const auto of_bytes = [](int rows) {
    return fmt::format(R"(HloModule one
ENTRY main {{
  a = f32[{0},700] parameter(0)
  b = s8[700,520] parameter(1)
  c = f32[700,520] convert(b)
  ROOT d = f32[{0},520] dot(a, c), {1}
}}
)",
                       rows, kByDepth);
  };
  CHECK(forms_of(session, of_bytes(4)) == std::vector<std::string>{kFewRows});
  CHECK_FALSE(offers(session, of_bytes(4), FamilyId::FloatDot));
  CHECK_FALSE(offers(session, of_bytes(9), FamilyId::HalfDot));
  if (dnnl_library() == nullptr) return skip_case("oneDNN is not installed");
  const Decisions decisions = other_form(session, of_bytes(9), FamilyId::FloatDot);
  CHECK(decisions[0].value == kOneDnn);
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note);
  CHECK(m.ok());
  CHECK(session.lower(decisions, false).hlo.find("hone.dnnl") != std::string::npos);
}

TEST_CASE("other dots of f16 stay", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const std::string batch =
      "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}";
  CHECK(forms_of(session, dot("f16[8,9,70]", "f16[8,70,520]", "f16[8,9,520]", batch)).empty());
  CHECK(forms_of(session, dot("f16[9,7]", "f16[7,5]", "f16[9,5]", kByDepth)).empty());  // small
  CHECK(forms_of(session, dot("f16[9,700]", "f16[700,520]", "f64[9,520]", kByDepth)).empty());
  CHECK(forms_of(session, dot("f16[1,0]", "f16[0,520]", "f16[1,520]", kByDepth)).empty());
}

}  // namespace hone::tune
