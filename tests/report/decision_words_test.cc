#include "report/decision_words.h"

#include <catch2/catch.hpp>

#include "tests/tune/fake_measurer.h"

namespace hone::report {

TEST_CASE("kernels are named by what they compute", "[tune]") {
  CHECK(kernel_in_words("transpose_add_fusion.1") == "transposed add");
  CHECK(kernel_in_words("copy_bitcast_fusion") == "transpose");
  CHECK(kernel_in_words("multiply_multiply_fusion") == "multiply");
  CHECK(kernel_in_words("subtract_exponential_fusion") == "subtract–exponential");
  CHECK(kernel_in_words("wrapped_reduce-window") == "reduce-window");
  CHECK(kernel_in_words("dot.12") == "dot");
  CHECK(kernel_in_words("fusion.3") == "fusion");
  CHECK(kernel_in_words("").empty());
  CHECK(kernel_in_words("multiply_maximum_fusion", true) == "transposed multiply–maximum");
  CHECK(kernel_in_words("transpose_fusion", true) == "transpose");
}

TEST_CASE("options in words", "[tune]") {
  CHECK(value_in_words("tile=8,128") == "tile 8×128");
  CHECK(value_in_words("loop;slp=0") == "plain loops without SLP vectorisation");
  CHECK(value_in_words("loop;partitions=4") == "plain loops 4 partitions");
  CHECK(value_in_words("ynn") == "YNNPACK");
  CHECK(value_in_words("default") == "XLA’s own choice");
  CHECK(value_in_words("default", "1,128") == "tile 1×128");
  CHECK(value_in_words("something new") == "something new");
}

TEST_CASE("decisions as sentences, those that saved most first", "[tune]") {
  TuneReport r;
  tune::KernelReport k;
  k.name = "transpose_add_fusion";
  k.key = k.fingerprint = "k1";
  k.default_value = "default";
  k.default_tile = "1,128";
  k.chosen = "tile=8,8";
  k.gain = 2.2;
  k.share = 0.5;
  k.count = 3;
  r.kernels = {k};
  r.decisions = {{DecisionKind::Fusion, "exp.1>add.2", "keep"},
                 {DecisionKind::Codegen, "k1", "tile=8,8"},
                 {DecisionKind::Rewrite,
                  "convolution:f32[1,8,8,4]*f32[3,3,1,4]->f32[1,8,8,4]:b01f_01io->b01f:size=3x3:groups 4", "shifted"},
                 {DecisionKind::Rewrite, "reduce-window:maximum:f32[1,8,8,4]->f32[1,4,4,4]:size=1x2x2x1", "shifted"},
                 {DecisionKind::Option, "vector_width", "512"},
                 {DecisionKind::Weights, "all", "constant"},
                 {DecisionKind::Weights, "3", "transposed"}};
  r.steps = {{"option vector_width 512", tune::measured(1.1), true},
             {"weights 3 transposed", tune::measured(1.3), false}};
  const std::vector<DecisionWords> words = decisions_in_words(r);
  REQUIRE(words.size() == 7);
  CHECK(words[0].text == "Transposed add: tile 8×8 instead of 1×128, 3 times in the program");
  CHECK(words[0].gain == 2.2);
  CHECK(words[0].kernel == "transpose_add_fusion");
  CHECK(words[1].text == "Vector width 512");
  CHECK(words[1].gain == Approx(1.1));
  CHECK(words[2].text == "exp.1 kept apart from add.2");
  CHECK(words[3].text == "Grouped convolution f32[1,8,8,4]*f32[3,3,1,4]->f32[1,8,8,4] by shifted slices");
  CHECK(words[4].text == "Maximum pooling f32[1,8,8,4]->f32[1,4,4,4] by shifted slices");
  CHECK(words[5].text == "All weights compiled in as constants");
  CHECK(words[6].text == "Weight 3 stored transposed");
  CHECK(words[6].gain == 0);  // that step was not kept
}

TEST_CASE("decisions of every family read as its sentence, those of none as their kind's", "[tune]") {
  TuneReport r;
  r.decisions = {
      {DecisionKind::Library, "program", "eigen"},
      {DecisionKind::Library, "reduce:add:f32[8,512]->f32[8]:1", "ynn"},
      {DecisionKind::Library, "reduce:maximum:f32[8]->f32[]:0", "compiled"},
      {DecisionKind::Library, "697a45820542b56f77d0f751c20b9643", "llvm"},
      {DecisionKind::Rewrite, "convolution:f32[4,8]*f32[8,4]->f32[3,3]:labels:window:batch groups 4", "shifted"},
      {DecisionKind::Rewrite, "reduce-window:", "shifted"},
      {DecisionKind::Rewrite, "of no family", "shifted"},
      {DecisionKind::Layout, "dot.1", "0,1/-/-"}};
  const std::vector<DecisionWords> words = decisions_in_words(r);
  REQUIRE(words.size() == 8);
  CHECK(words[0].text == "Library of the whole program: Eigen");
  CHECK(words[1].text == "Reduction add:f32[8,512]->f32[8]:1 by YNNPACK");
  CHECK(words[2].text == "Reduction maximum:f32[8]->f32[]:0 by compiled code");
  CHECK(words[3].text == "Library of 697a45820542: compiled matrix code");
  CHECK(words[4].text == "Gradient of the weights f32[4,8]*f32[8,4]->f32[3,3] by shifted slices");
  CHECK(words[5].text == " pooling  by shifted slices");  // a damaged key
  CHECK(words[6].text == "Rewrite of no family: shifted");
  CHECK(words[7].text == "Layout dot.1: 0,1/-/-");
}

TEST_CASE("a rewritten operation reads as its form with its error", "[tune]") {
  TuneReport r;
  const std::string key = "convolution:f32[1,8,8,8]*f32[3,3,8,8]->f32[1,8,8,8]:b01f_01io->b01f:size=3x3 pad=1_1x1_1";
  tune::KernelReport k;
  k.name = "f32[1,8,8,8]*f32[3,3,8,8]->f32[1,8,8,8]";
  k.decision = DecisionKind::Rewrite;
  k.key = k.fingerprint = key;
  k.default_value = "default";
  k.chosen = "winograd=4;strips=2";
  k.gain = 1.5;
  k.count = 3;
  tune::Measurement m = tune::measured(1.5);
  m.error = 1.5e-6;
  m.default_error = 3.4e-7;
  k.top = {{k.chosen, m}};
  r.kernels = {k};
  r.decisions = {{DecisionKind::Rewrite, key, k.chosen}};
  const std::vector<DecisionWords> words = decisions_in_words(r);
  REQUIRE(words.size() == 1);
  CHECK(words[0].text ==
        "Convolution f32[1,8,8,8]*f32[3,3,8,8]->f32[1,8,8,8] by Winograd’s method with tiles of 4, in 2 strips (error "
        "1.5e-06 of the largest value, XLA’s own 3.4e-07), 3 times in the program");
  CHECK(words[0].gain == 1.5);
}

}  // namespace hone::report
