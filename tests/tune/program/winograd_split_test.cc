// Convolutions with strides or dilation and gradients of weights by Winograd's method, on the real compiler; skipped where the worker is
// not built.
#include <algorithm>

#include "graph/winograd_form.h"
#include "tests/tune/program/one_convolution.h"
#include "tests/tune/program/other_form.h"
#include "tune/session/decision_list.h"

namespace hone::tune {
namespace {

constexpr Convolution kSplit[] = {
    {"strides", "f32[2,11,13,8]", "f32[3,3,8,16]", "f32[2,6,7,16]",
     "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"strides, channels first, a reversed window", "f32[1,8,12,9]", "f32[9,8,5,3]", "f32[9,1,6,4]",
     "window={size=5x3 stride=2x2 pad=2_1x0_0 rhs_reversal=1x0}, dim_labels=bf01_oi01->fb01"},
    {"one stride, padding that is negative and padding that no window needs", "f32[1,12,12,8]", "f32[3,2,8,8]",
     "f32[1,5,12,8]", "window={size=3x2 stride=2x1 pad=-1_1x1_0}, dim_labels=b01f_01io->b01f"},
    {"a stride larger than the window", "f32[1,13,13,8]", "f32[2,3,8,8]", "f32[1,4,11,8]",
     "window={size=2x3 stride=3x1 pad=0_0x0_0}, dim_labels=b01f_01io->b01f"},
    {"one spatial dimension", "f32[2,40,8]", "f32[7,8,8]", "f32[2,20,8]",
     "window={size=7 stride=2 pad=3_3}, dim_labels=b0f_0io->b0f"},
    {"dilation", "f32[2,11,9,8]", "f32[3,3,8,16]", "f32[2,11,9,16]",
     "window={size=3x3 pad=2_2x2_2 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f"},
    {"dilation of one dimension, another order out", "f32[2,8,9,7]", "f32[8,8,3,2]", "f32[5,2,6,8]",
     "window={size=3x2 pad=1_1x0_0 rhs_dilate=3x1}, dim_labels=bf01_oi01->0b1f"},
    {"narrow numbers", "bf16[1,9,9,8]", "bf16[3,3,8,8]", "bf16[1,5,5,8]",
     "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"wide numbers", "f64[1,9,9,8]", "f64[3,3,8,8]", "f64[1,9,9,8]",
     "window={size=3x3 pad=2_2x2_2 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f"},
};

constexpr Convolution kGradients[] = {
    {"gradient of 3 x 3 weights", "f32[3,9,10,8]", "f32[3,9,10,16]", "f32[3,3,8,16]",
     "window={size=9x10 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"},
    {"channels first", "f32[2,8,11,8]", "f32[2,9,9,6]", "f32[9,8,3,3]",
     "window={size=9x6 pad=0_0x0_0}, dim_labels=fb01_io01->fb01"},
    {"of 1 x 5 weights, a reversed window", "f32[1,6,13,8]", "f32[1,6,13,8]", "f32[1,5,8,8]",
     "window={size=6x13 pad=0_0x2_2 rhs_reversal=1x1}, dim_labels=f01b_i01o->01bf"},
    {"of one spatial dimension", "f32[5,40,8]", "f32[5,40,8]", "f32[3,8,8]",
     "window={size=40 pad=1_1}, dim_labels=f0b_i0o->0bf"},
    {"narrow numbers", "bf16[2,8,8,8]", "bf16[2,8,8,8]", "bf16[3,3,8,8]",
     "window={size=8x8 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"},
};

std::vector<std::string> forms_of(const Dimension& d, WinogradUse use) {
  std::vector<std::string> forms;
  for (const std::string& option : d.options)
    if (const auto form = WinogradForm::parse(option); form && form->use == use) forms.push_back(option);
  return forms;
}

void check_forms(Session& session, const Convolution& c, WinogradUse use, const std::string& further = "") {
  INFO(c.what);
  const std::vector<Dimension> found = dimensions_of(session, program_of(c), FamilyId::DenseConvolution);
  REQUIRE(found.size() == 1);
  std::vector<std::string> forms = forms_of(found[0], use);
  REQUIRE_FALSE(forms.empty());
  if (!further.empty()) forms.push_back(further);
  for (const std::string& form : forms) {
    INFO(form);
    const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, form}};
    const Measurement m = session.measure_program(decisions, {}, kOnce);
    INFO(m.note);
    CHECK(m.ok());
    CHECK(session.lower(decisions, false).hlo.find(std::string(c.attributes).substr(0, 20)) == std::string::npos);
  }
  const Measurement alone = session.measure_kernel(operation_alone(found[0], {}), forms.back(), kOnce);
  INFO(alone.note);
  CHECK(alone.ok());
}

}  // namespace

TEST_CASE("convolutions with strides or dilation are split into such that Winograd's method computes", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const Convolution& c : kSplit) check_forms(session, c, WinogradUse::Split);
}

TEST_CASE("Winograd's method computes gradients of weights, with the roles of window and result exchanged", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const Convolution& c : kGradients)
    check_forms(session, c, WinogradUse::Gradient, "gradient-winograd=2;strips=2");
}

TEST_CASE("a forward convolution of small images is no gradient", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  constexpr Convolution kSmall = {"2 x 2 results of 3 x 3 windows", "f32[8,2,2,8]", "f32[3,3,8,8]", "f32[8,2,2,8]",
                                  "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"};
  const std::vector<Dimension> found = dimensions_of(session, program_of(kSmall), FamilyId::DenseConvolution);
  REQUIRE(found.size() == 1);
  CHECK(forms_of(found[0], WinogradUse::Gradient).empty());
  const std::vector<std::string> plain = forms_of(found[0], WinogradUse::Plain);
  CHECK(std::count(plain.begin(), plain.end(), "winograd=2") == 1);
  CHECK_THROWS(session.lower({{DecisionKind::Rewrite, found[0].key, "gradient-winograd=2"}}, false));
}

TEST_CASE("constant weights are split before the program runs", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  constexpr Convolution kPair = {"two weights", "f32[1,21,8]", "f32[4,8,8]", "f32[1,9,8]",
                                 "window={size=4 stride=2}, dim_labels=b0f_0io->b0f"};
  std::string weights;
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 8; ++i) {
      weights += i > 0 ? ",{" : (k > 0 ? ",{{" : "{{{");
      for (int o = 0; o < 8; ++o) weights += (o > 0 ? "," : "") + std::to_string((k * 5 + i * 3 + o * 7) % 11 - 5);
      weights += i == 7 ? "}}" : "}";
    }
  const std::vector<Dimension> found =
      dimensions_of(session, program_of(kPair, "constant(" + weights + "})"), FamilyId::DenseConvolution);
  REQUIRE(found.size() == 1);
  const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, "split-winograd=4"}};
  const std::string hlo = session.lower(decisions, false).hlo;
  CHECK(hlo.find("f32[5,8,8]{2,1,0} constant(") != std::string::npos);  // F(4, 2) of each phase
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note);
  CHECK(m.ok());
}

TEST_CASE("other convolutions are not split, and are no gradients", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  const Convolution others[] = {
      {"groups", "f32[1,9,9,16]", "f32[3,3,8,16]", "f32[1,4,4,16]",
       "window={size=3x3 stride=2x2}, dim_labels=b01f_01io->b01f, feature_group_count=2"},
      {"a window of single positions", "f32[1,9,9,8]", "f32[2,2,8,8]", "f32[1,4,4,8]",
       "window={size=2x2 stride=2x2}, dim_labels=b01f_01io->b01f"},
      {"dilation of the input", "f32[1,5,5,8]", "f32[3,3,8,8]", "f32[1,4,4,8]",
       "window={size=3x3 stride=2x2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f"},
      {"many phases", "f32[1,40,40,8]", "f32[9,9,8,8]", "f32[1,7,7,8]",
       "window={size=9x9 stride=5x5}, dim_labels=b01f_01io->b01f"},
      {"a window of one result", "f32[8,9,9,8]", "f32[9,9,8,8]", "f32[8,1,1,8]",
       "window={size=9x9}, dim_labels=b01f_01io->b01f"},
      {"a result as large as the window", "f32[8,31,31,8]", "f32[15,15,8,8]", "f32[8,17,17,8]",
       "window={size=15x15}, dim_labels=b01f_01io->b01f"},
      {"gradient of the weights of strides", "f32[3,16,16,8]", "f32[3,8,8,16]", "f32[3,3,8,16]",
       "window={size=8x8 pad=1_0x1_0 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf"},
      {"few features of a gradient", "f32[8,9,9,4]", "f32[8,9,9,8]", "f32[3,3,4,8]",
       "window={size=9x9 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"}};
  for (const Convolution& c : others) {
    INFO(c.what);
    session.load(program_of(c), c.what);
    for (const Dimension& d : session.lower({}, false).dimensions) {
      CHECK(forms_of(d, WinogradUse::Split).empty());
      CHECK(forms_of(d, WinogradUse::Gradient).empty());
      if (is_alone(d))
        for (const char* form : {"split-winograd=4", "gradient-winograd=6"})
          if (std::string(c.what).find("few") == std::string::npos)
            CHECK_THROWS(session.lower({{DecisionKind::Rewrite, d.key, form}}, false));
    }
  }
}

}  // namespace hone::tune
