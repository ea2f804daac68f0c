// Every kind of decision comes to the part of the real worker that applies its stage; skipped where the worker is not built.

#include <catch2/catch.hpp>

#include "base/error.h"
#include "graph/decision_family.h"
#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

constexpr char kProgram[] = R"(HloModule small
ENTRY main {
  a = f32[64,96] parameter(0)
  t = f32[96,64] transpose(a), dimensions={1,0}
  e = f32[96,64] exponential(t)
  ROOT s = f32[96,64] add(e, t)
}
)";

}  // namespace

TEST_CASE("a decision that cannot be applied is refused at its stage", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  session.load(kProgram, "small");
  const Lowered plain = session.lower({}, false);
  REQUIRE_FALSE(plain.kernels.empty());
  const std::string kernel = plain.kernels[0].dimension.key;
  struct Refused {
    Decision decision;
    DecisionStage stage;
    const char* says;
  };
  const Refused all[] = {
      {{DecisionKind::Weights, "0", "transposed"}, DecisionStage::Program, "not declared a weight"},
      {{DecisionKind::Rewrite, "convolution:gone", kShifted}, DecisionStage::Program, "no such operation"},
      {{DecisionKind::Rewrite, "of no family", kShifted}, DecisionStage::Program, "no such operation"},
      {{DecisionKind::Passes, "order", "gone"}, DecisionStage::Program, "no pass 'gone'"},
      {{DecisionKind::Option, "gone", "1"}, DecisionStage::Options, "no option gone"},
      {{DecisionKind::Library, "program", "gone"}, DecisionStage::Options, "no option program = gone"},
      {{DecisionKind::Layout, "gone.1", "0,1/-/-"}, DecisionStage::Layouts, "gone.1"},
      {{DecisionKind::Library, "reduce:add:x", "gone"}, DecisionStage::Fusion, "no library 'gone'"},
      {{DecisionKind::Codegen, kernel, "gone"}, DecisionStage::Kernels, "not an option of a kernel"},
      {{DecisionKind::Library, kernel, "eigen"}, DecisionStage::Kernels, "does not fit"},
  };
  for (const Refused& refused : all) {
    INFO(to_text({refused.decision}));
    CHECK(stage_of(refused.decision.kind, refused.decision.key) == refused.stage);
    CHECK_THROWS_WITH(session.lower({refused.decision}, false), Catch::Contains(refused.says));
  }
  CHECK(session.lower({}, false).fingerprint == plain.fingerprint);  // nothing is left behind
}

}  // namespace hone::tune
