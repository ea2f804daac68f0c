#include "features/operation_features.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

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

}  // namespace hone::features
