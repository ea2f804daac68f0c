#include "graph/decision_family.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace hone;

namespace {

FamilyId id_of(DecisionKind kind, const std::string& key) {
  const DecisionFamily* found = family_of(kind, key);
  REQUIRE(found);
  return found->id;
}

}  // namespace

TEST_CASE("every library and rewrite key belongs to one family") {
  CHECK(id_of(DecisionKind::Library, "program") == FamilyId::ProgramLibrary);
  CHECK(id_of(DecisionKind::Library, "programs") == FamilyId::KernelLibrary);
  CHECK(id_of(DecisionKind::Library, "reduce:add:f32[8,512]->f32[8]:1") == FamilyId::Reduction);
  CHECK(id_of(DecisionKind::Library, "697a45820542b56f77d0f751c20b9643") == FamilyId::KernelLibrary);
  CHECK(id_of(DecisionKind::Rewrite,
              "convolution:f32[1,8,8,4]*f32[3,3,1,4]->f32[1,8,8,4]:b01f_01io->b01f:size=3x3:groups 4") ==
        FamilyId::GroupedConvolution);
  CHECK(id_of(DecisionKind::Rewrite, "convolution:f32[4,8,8,1]*f32[8,8,1,4]->f32[3,3,1,4]::batch groups 4") ==
        FamilyId::WeightsGradient);
  CHECK(id_of(DecisionKind::Rewrite, "reduce-window:maximum:f32[1,8,8,4]->f32[1,4,4,4]:") == FamilyId::Pooling);
  CHECK(family_of(DecisionKind::Fusion, "reduce:a>b") == nullptr);
  CHECK(family_of(DecisionKind::Rewrite, "dot:f32[8,8]") == nullptr);
}

TEST_CASE("rows of the families are in the order of their ids and have their kinds") {
  for (const DecisionFamily& row : decision_families()) {
    CHECK(&family(row.id) == &row);
    CHECK((row.kind == DecisionKind::Library || row.kind == DecisionKind::Rewrite));
  }
  CHECK(decides_kernel(DecisionKind::Codegen, "anything"));
  CHECK(decides_kernel(DecisionKind::Library, "697a45820542b56f77d0f751c20b9643"));
  CHECK_FALSE(decides_kernel(DecisionKind::Library, "program"));
  CHECK_FALSE(decides_kernel(DecisionKind::Rewrite, "convolution:x"));
  CHECK_FALSE(decides_kernel(DecisionKind::Option, "697a45820542b56f77d0f751c20b9643"));
}
