// The library of each reduction, decided on the real compiler; skipped where the worker is not built.

#include <catch2/catch.hpp>

#include "base/error.h"
#include "graph/decision_family.h"
#include "tests/tune/real_worker.h"
#include "wire/client.h"

namespace hone::tune {
namespace {

// Two sums of 256 KiB, each of a sine: large enough for XLA to leave them to YNNPACK.
constexpr char kProgram[] = R"(HloModule sums
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  a = f32[256,256] parameter(0)
  b = f32[512,128] parameter(1)
  zero = f32[] constant(0)
  sa = f32[256,256] sine(a)
  sb = f32[512,128] sine(b)
  ra = f32[256] reduce(sa, zero), dimensions={1}, to_apply=add
  rb = f32[512] reduce(sb, zero), dimensions={1}, to_apply=add
  ROOT out = (f32[256], f32[512]) tuple(ra, rb)
}
)";

class Sums {
 public:
  Sums() : worker_(with_worker().worker) {
    wire::LoadRequestT load;
    load.name = "sums.hlo";
    load.bytes.assign(kProgram, kProgram + sizeof(kProgram) - 1);
    program_ = worker_.call<wire::LoadReplyT>(std::move(load)).program;
  }

  wire::LowerReplyT lower(const Decisions& decisions) {
    wire::LowerRequestT request;
    request.program = program_;
    request.decisions = wire::to_wire(decisions);
    request.want_hlo = true;
    return worker_.call<wire::LowerReplyT>(std::move(request));
  }

  // Reductions left to YNNPACK under the decisions.
  int in_library(const Decisions& decisions) {
    const std::string hlo = lower(decisions).hlo;
    int count = 0;
    for (size_t at = hlo.find("__ynn_fusion"); at != std::string::npos; at = hlo.find("__ynn_fusion", at + 1)) ++count;
    return count;
  }

 private:
  wire::Worker worker_;
  std::string program_;
};

constexpr char kSumA[] = "reduce:add:f32[256,256]->f32[256]:1";
constexpr char kSumB[] = "reduce:add:f32[512,128]->f32[512]:1";

TEST_CASE("each reduction is offered with XLA's own choice as the default", "[tune]") {
  if (no_worker()) return;
  const wire::LowerReplyT lowered = Sums().lower({});
  std::vector<std::string> keys;
  for (const auto& wire_dimension : lowered.dimensions) {
    const Dimension dimension = wire::from_wire(*wire_dimension);
    if (!belongs_to(FamilyId::Reduction, dimension.kind, dimension.key)) continue;
    keys.push_back(dimension.key);
    CHECK(dimension.options == std::vector<std::string>{"compiled", "ynn"});
    CHECK(dimension.default_option == 1);
    CHECK(dimension.weight == 256 * 256 * 4);
  }
  CHECK(keys == std::vector<std::string>{kSumA, kSumB});
}

TEST_CASE("one reduction changes its library and the other keeps it", "[tune]") {
  if (no_worker()) return;
  Sums sums;
  CHECK(sums.in_library({}) == 2);
  CHECK(sums.in_library({{DecisionKind::Library, kSumA, "compiled"}}) == 1);
  CHECK(sums.in_library({{DecisionKind::Library, kSumA, "compiled"}, {DecisionKind::Library, kSumB, "compiled"}}) == 0);
  // If the program uses only Eigen, one reduction can still use YNNPACK.
  CHECK(sums.in_library({{DecisionKind::Library, "program", "eigen"}}) == 0);
  CHECK(sums.in_library({{DecisionKind::Library, "program", "eigen"}, {DecisionKind::Library, kSumB, "ynn"}}) == 1);
}

TEST_CASE("an unknown library for a reduction is refused by name", "[tune]") {
  if (no_worker()) return;
  Sums sums;
  try {
    sums.lower({{DecisionKind::Library, kSumA, "eigen"}});
    FAIL("accepted");
  } catch (const Error& refused) {
    CHECK(std::string(refused.what()).find("eigen") != std::string::npos);
    CHECK(refused.where() == kSumA);
  }
}

}  // namespace
}  // namespace hone::tune
