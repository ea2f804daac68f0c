#include "features/operation_features.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "graph/decision_family.h"

namespace hone::features {
namespace {

const char* const kConvolution =
    "convolution:f32[1,30,30,16]*f32[3,3,16,64]->f32[1,30,30,64]:b01f_01io->b01f:size=3x3 pad=1_1x1_1";
const char* const kDot = "dot:bf16[1,64]*bf16[64,32]->bf16[1,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}";

std::vector<float> features_of(const std::string& key, const std::string& form, bool constant = false) {
  const auto features =
      operation_features(operation_sizes(key).value(), {.constant = constant}, form, {.vector_bits = 256});
  REQUIRE(features);
  REQUIRE(features->size() == operation_feature_names().size());
  return *features;
}

float value(const std::vector<float>& features, const std::string& name) {
  const auto& names = operation_feature_names();
  const auto found = std::find(names.begin(), names.end(), name);
  REQUIRE(found != names.end());
  return features[found - names.begin()];
}

}  // namespace

TEST_CASE("forms of a convolution differ in what Winograd's method saves and wastes") {
  const std::vector<float> four = features_of(kConvolution, "winograd=4"),
                           two = features_of(kConvolution, "winograd=2;strips=3"),
                           onednn = features_of(kConvolution, kOneDnn);
  CHECK(value(four, "tile") == 4);
  CHECK(value(four, "saved") == Approx(144.0 / 36));
  CHECK(value(four, "wasted") == Approx(1 - 30.0 * 30 / (32 * 32)));
  CHECK(value(four, "log_between") == Approx(std::log2(1 + 4.0 * 48 * 48 * 80)));
  CHECK(value(two, "saved") == Approx(36.0 / 16));
  CHECK(value(two, "wasted") == 0);
  CHECK(value(two, "log_strips") == Approx(2));
  const std::vector<float> kernel = features_of(kConvolution, "kernel-winograd=4");
  CHECK(value(kernel, "kernel") == 1);
  CHECK(value(four, "kernel") == 0);
  CHECK(value(kernel, "saved") == value(four, "saved"));
  CHECK(value(onednn, "onednn") == 1);
  CHECK(value(onednn, "tile") == 0);
  for (const char* same : {"log_m", "log_n", "log_k", "rows", "padding", "vector_bits"})
    CHECK(value(four, same) == value(onednn, same));
}

TEST_CASE("constant weights are a feature") {
  CHECK(value(features_of(kConvolution, kOneDnn, true), "constant") == 1);
  CHECK(value(features_of(kConvolution, kOneDnn, false), "constant") == 0);
  CHECK(value(features_of(kConvolution, kOneDnn, true), "kept") == 1);
  CHECK(value(features_of(kConvolution, kOneDnn, false), "kept") == 0);
  CHECK(value(features_of(kConvolution, "winograd=4", true), "kept") == 0);
}

TEST_CASE("forms of a dot are told apart, and forms of other operations have no features") {
  CHECK(value(features_of(kDot, kFewRows), "few_rows") == 1);
  CHECK(value(features_of(kDot, kF32ResultOfTwoRows), "two_rows") == 1);
  CHECK(value(features_of(kDot, kF32Result), "few_rows") == 0);
  CHECK_FALSE(operation_features(operation_sizes(kDot).value(), {}, "winograd=4", {}));
  CHECK_FALSE(operation_features(operation_sizes(kConvolution).value(), {}, kFewRows, {}));
}

TEST_CASE("strides and dilation by splitting are told from plain forms by what they save") {
  const std::vector<float> strides = features_of(
      "convolution:f32[1,56,56,16]*f32[3,3,16,32]->f32[1,28,28,32]:b01f_01io->b01f:size=3x3 stride=2x2 pad=0_1x0_1",
      "split-winograd=4");
  CHECK(value(strides, "split") == 1);
  CHECK(value(strides, "gradient") == 0);
  CHECK(value(strides, "saved") == Approx(144.0 / 81));  // of windows of 2 and 1: 5 and 4 in each dimension
  CHECK(value(strides, "wasted") == 0);
  CHECK(value(strides, "log_parts") == Approx(std::log2(5)));
  CHECK(value(strides, "log_between") == Approx(std::log2(1 + 4.0 * 63 * 63 * 48)));
  CHECK(value(strides, "log_transformed") == Approx(std::log2(1 + 4.0 * 81 * 16 * 32)));
  const std::vector<float> dilation = features_of(
      "convolution:f32[1,28,28,8]*f32[3,3,8,16]->f32[1,28,28,16]:b01f_01io->b01f:size=3x3 pad=2_2x2_2 rhs_dilate=2x2",
      "split-winograd=4");
  CHECK(value(dilation, "saved") == Approx(4));
  CHECK(value(dilation, "wasted") == Approx(1 - 14.0 * 14 / (16 * 16)));  // phases of 14 x 14
  CHECK(value(dilation, "log_parts") == Approx(std::log2(5)));
  CHECK(value(dilation, "log_between") == Approx(std::log2(1 + 4.0 * 48 * 48 * 24)));
}

TEST_CASE("of gradients of weights the window is cut into tiles") {
  const char* key =
      "convolution:f32[8,28,28,64]*f32[8,28,28,32]->f32[3,3,64,32]:f01b_i01o->01bf:size=28x28 pad=1_1x1_1";
  const std::vector<float> four = features_of(key, "gradient-winograd=4;strips=2");
  CHECK(value(four, "gradient") == 1);
  CHECK(value(four, "gradient_window") == 1);
  CHECK(value(four, "saved") == Approx(144.0 / 36));
  CHECK(value(four, "wasted") == 0);
  CHECK(value(four, "log_strips") == Approx(std::log2(3)));
  CHECK(value(four, "log_between") == Approx(std::log2(1 + 4.0 * 8 * 42 * 42 * 96 / 2)));
  CHECK(value(four, "log_transformed") == Approx(std::log2(1 + 4.0 * 36 * 64 * 32)));
  CHECK(value(features_of(kConvolution, "winograd=4"), "gradient_window") == 0);
}

TEST_CASE("groups, types and orders of other families are features") {
  const char* grouped =
      "convolution:f32[1,28,28,64]*f32[3,3,4,128]->f32[1,28,28,128]:b01f_01io->b01f:size=3x3 "
      "pad=1_1x1_1:groups 16";
  CHECK(value(features_of(grouped, kShifted), "shifted") == 1);
  CHECK(value(features_of(grouped, kOneDnn), "shifted") == 0);
  CHECK(value(features_of(grouped, kOneDnn), "log_groups") == Approx(std::log2(17)));
  CHECK(value(features_of(grouped, kOneDnn), "log_results_of_group") == Approx(std::log2(1 + 8)));
  const std::vector<float> depthwise = features_of(
      "convolution:f32[2,9,9,32]*f32[2,9,9,32]->f32[3,3,1,32]:f01b_i01o->01bf:size=9x9 pad=1_1x1_1:batch groups 32",
      kShifted);
  CHECK(value(depthwise, "batch_groups") == 1);
  CHECK(value(depthwise, "log_results_of_group") == Approx(1));
  CHECK(value(depthwise, "last_window") == 9);
  CHECK(value(features_of("convolution:f32[1,9,9,16]*f32[3,3,8,16]->f32[1,9,9,8]:b01f_01oi->b01f:size=3x3 pad=1_1x1_1 "
                          "rhs_reversal=1x1",
                          "winograd=2"),
              "reversed") == 1);
  const std::vector<float> half =
      features_of("dot:f16[64,2]*f16[64,32]->f16[2,32]:lhs_contracting_dims={0}, rhs_contracting_dims={0}", kFewRows);
  CHECK(value(half, "f16") == 1);
  CHECK(value(half, "rows_minor") == 1);
  CHECK(value(features_of(kDot, kFewRows), "f16") == 0);
  CHECK(value(features_of(kDot, kFewRows), "rows_minor") == 0);
  const std::vector<float> bytes =
      features_of("dot:f32[1,64]*s8[64,32]->f32[1,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}", kFewRows);
  CHECK(value(bytes, "type_bytes") == 4);
  CHECK(value(bytes, "log_right_bytes") == Approx(std::log2(1 + 64 * 32)));
  const std::vector<float> small = features_of(
      "small-dot:f32[64,8,4]*f32[64,4,2]->f32[64,8,2]:lhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_batch_dims={0}, "
      "rhs_contracting_dims={1}",
      kProducts);
  CHECK(value(small, "products") == 1);
  CHECK(value(small, "log_batch") == Approx(std::log2(65)));
}

namespace {

struct NamedForms {
  FamilyId family;
  DecisionKind kind;
  const char* values;
};

constexpr NamedForms kNamed[] = {
#define FAMILY(id, kind, prefix, infix, scope, stage, alone, transition, words, sentence, values) \
  {FamilyId::id, DecisionKind::kind, values},
#include "graph/decision_families.def"
#undef FAMILY
};

// Operations whose forms the model ranks; families that are not here need a reason below.
const std::map<FamilyId, std::vector<std::string>> kRanked = {
    {FamilyId::DenseConvolution,
     {kConvolution,
      "convolution:f32[1,9,9,8]*f32[3,3,8,8]->f32[1,5,5,8]:b01f_01io->b01f:size=3x3 stride=2x2 pad=1_1x1_1",
      "convolution:f32[1,9,9,8]*f32[1,9,9,8]->f32[3,3,8,8]:f01b_i01o->01bf:size=9x9 pad=1_1x1_1"}},
    {FamilyId::GroupedConvolution,
     {"convolution:f32[1,9,9,8]*f32[3,3,2,8]->f32[1,9,9,8]:b01f_01io->b01f:size=3x3 pad=1_1x1_1:groups 4"}},
    {FamilyId::WeightsGradient,
     {"convolution:f32[1,9,9,8]*f32[1,9,9,8]->f32[3,3,1,8]:f01b_i01o->01bf:size=9x9 pad=1_1x1_1:batch groups 8"}},
    {FamilyId::FloatDot, {"dot:f32[1,64]*f32[64,32]->f32[1,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}"}},
    {FamilyId::HalfDot,
     {kDot, "dot:f16[9,64]*f16[64,32]->f16[9,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}"}},
    {FamilyId::SmallDot,
     {"small-dot:f32[64,8,4]*f32[64,4,2]->f32[64,8,2]:lhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_batch_dims={0}, "
      "rhs_contracting_dims={1}",
      "small-dot:s8[8,64]*s8[64,32]->s32[8,32]:lhs_contracting_dims={1}, rhs_contracting_dims={0}"}},
};

const std::map<FamilyId, std::string> kNotRanked = {
    {FamilyId::Attention, "two dots and a softmax, whose gain depends on what the program fuses with them"},
    {FamilyId::Recurrence, "a loop of dots: what it gains is the loop's"},
    {FamilyId::ShortLoop, "no convolution or dot"},
    {FamilyId::Pooling, "no convolution or dot"},
    {FamilyId::PoolingGradient, "no convolution or dot"},
    {FamilyId::ArgReduction, "no convolution or dot"},
    {FamilyId::Sine, "no convolution or dot"},
    {FamilyId::Sort, "no convolution or dot"},
    {FamilyId::CumulativeSum, "no convolution or dot"},
    {FamilyId::WholeSum, "no convolution or dot"},
    {FamilyId::Power, "no convolution or dot"},
};

// "default, onednn, winograd=4 and the like"
std::vector<std::string> forms_named(const std::string& values) {
  std::vector<std::string> forms;
  for (size_t at = 0; at < values.size();) {
    const size_t end = std::min(values.find(", ", at), values.size());
    forms.push_back(values.substr(at, std::min(values.find(' ', at), end) - at));
    at = end + 2;
  }
  std::erase(forms, kNotRewritten);
  return forms;
}

}  // namespace

TEST_CASE("every form of an operation has features for the model of operations, or there is a reason why not") {
  for (const NamedForms& named : kNamed) {
    if (named.kind != DecisionKind::Rewrite || kNotRanked.contains(named.family)) continue;
    INFO(named.values);
    REQUIRE(kRanked.contains(named.family));
    for (const std::string& form : forms_named(named.values)) {
      INFO(form);
      const auto& keys = kRanked.at(named.family);
      CHECK(std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
        REQUIRE(belongs_to(named.family, DecisionKind::Rewrite, key));
        return operation_features(operation_sizes(key).value(), {}, form, {}).has_value();
      }));
    }
  }
}

}  // namespace hone::features
