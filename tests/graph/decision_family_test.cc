#include "graph/decision_family.h"

#include <catch2/catch.hpp>
#include <string>

using namespace hone;

namespace {

FamilyId id_of(DecisionKind kind, const std::string& key) {
  const DecisionFamily* found = family_of(kind, key);
  REQUIRE(found);
  return found->id;
}

}  // namespace

TEST_CASE("a key belongs to the first family that claims it, or to none") {
  CHECK(id_of(DecisionKind::Library, "program") == FamilyId::ProgramLibrary);
  CHECK(id_of(DecisionKind::Library, "reduce:add:f32[8,512]->f32[8]:1") == FamilyId::Reduction);
  CHECK(id_of(DecisionKind::Rewrite,
              "convolution:f32[1,8,8,4]*f32[3,3,1,4]->f32[1,8,8,4]:b01f_01io->b01f:size=3x3:groups 4") ==
        FamilyId::GroupedConvolution);
  CHECK(id_of(DecisionKind::Rewrite, "convolution:f32[4,8,8,1]*f32[8,8,1,4]->f32[3,3,1,4]::batch groups 4") ==
        FamilyId::WeightsGradient);
  CHECK(id_of(DecisionKind::Rewrite, "reduce-window:maximum:f32[1,8,8,4]->f32[1,4,4,4]:") == FamilyId::Pooling);
  CHECK(family_of(DecisionKind::Library, "programs") == nullptr);  // the whole key, or its beginning up to a colon
  CHECK(family_of(DecisionKind::Library, "reduce") == nullptr);
  CHECK(family_of(DecisionKind::Library, "697a45820542b56f77d0f751c20b9643") == nullptr);
  CHECK(family_of(DecisionKind::Fusion, "reduce:a>b") == nullptr);
  CHECK(family_of(DecisionKind::Rewrite, "fft:f32[8,8]") == nullptr);
}

TEST_CASE("rows of the families stand at their ids, and say how a decision reads") {
  for (const DecisionFamily& row : decision_families()) {
    INFO(row.prefix);
    CHECK(&family(row.id) == &row);
    CHECK_THAT(row.sentence, Catch::Contains("{words}") && Catch::Contains("{value}"));
    CHECK_FALSE(std::string(row.words).empty());
  }
}

TEST_CASE("scope and stage are the family's, else the kind's") {
  const std::string kernel = "697a45820542b56f77d0f751c20b9643", reduction = "reduce:add:f32[8,512]->f32[8]:1";
  CHECK(scope_of(DecisionKind::Library, kernel) == DecisionScope::Kernel);
  CHECK(scope_of(DecisionKind::Library, reduction) == DecisionScope::Operation);
  CHECK(scope_of(DecisionKind::Library, "program") == DecisionScope::Program);
  CHECK(scope_of(DecisionKind::Weights, "3") == DecisionScope::Parameter);
  CHECK(stage_of(DecisionKind::Library, kernel) == DecisionStage::Kernels);
  CHECK(stage_of(DecisionKind::Library, reduction) == DecisionStage::Fusion);
  CHECK(stage_of(DecisionKind::Library, "program") == DecisionStage::Options);
  CHECK(stage_of(DecisionKind::Rewrite, "convolution:x") == DecisionStage::Program);
  CHECK(stage_of(DecisionKind::Rewrite, "of no family") == DecisionStage::Program);
  CHECK(stage_of(DecisionKind::Layout, "dot.1") == DecisionStage::Layouts);
}

TEST_CASE("convolutions belong to the family of their groups") {
  const std::string dense = "convolution:f32[1,8,8,4]*f32[3,3,4,4]->f32[1,8,8,4]:b01f_01io->b01f:size=3x3";
  CHECK(belongs_to(FamilyId::DenseConvolution, DecisionKind::Rewrite, dense));
  CHECK(belongs_to(FamilyId::GroupedConvolution, DecisionKind::Rewrite, dense + ":groups 4"));
  CHECK(belongs_to(FamilyId::WeightsGradient, DecisionKind::Rewrite, dense + ":batch groups 4"));
  CHECK(family(FamilyId::DenseConvolution).alone);
  CHECK_FALSE(family(FamilyId::GroupedConvolution).alone);
}

TEST_CASE("decisions of a stage keep their order, and every decision has one stage") {
  const Decisions all = {{DecisionKind::Passes, "order", "cse"},
                         {DecisionKind::Library, "reduce:add:x", "ynn"},
                         {DecisionKind::Weights, "1", "transposed"},
                         {DecisionKind::Codegen, "k", "loop"},
                         {DecisionKind::Library, "program", "eigen"}};
  CHECK(of_stage(all, DecisionStage::Program) == Decisions{all[0], all[2]});
  CHECK(of_stage(all, DecisionStage::Options) == Decisions{all[4]});
  CHECK(of_stage(all, DecisionStage::Layouts).empty());
  CHECK(of_stage(all, DecisionStage::Fusion) == Decisions{all[1]});
  CHECK(of_stage(all, DecisionStage::Kernels) == Decisions{all[3]});
}

TEST_CASE("kernels are decided by their fingerprints") {
  CHECK(decides_kernel(DecisionKind::Codegen, "anything"));
  CHECK(decides_kernel(DecisionKind::Library, "697a45820542b56f77d0f751c20b9643"));
  CHECK_FALSE(decides_kernel(DecisionKind::Library, "program"));
  CHECK_FALSE(decides_kernel(DecisionKind::Rewrite, "convolution:x"));
  CHECK_FALSE(decides_kernel(DecisionKind::Option, "697a45820542b56f77d0f751c20b9643"));
}
