// Every form that the real compiler offers for convolutions and dots has features for the model of operations; skipped where the worker
// is not built.
#include "features/operation_features.h"
#include "graph/operation_key.h"
#include "tests/skip.h"
#include "tests/tune/program/other_form.h"

namespace hone::tune {
namespace {

struct OfFamily {
  const char* family;
  const char *left, *right, *result, *operation;
};

constexpr OfFamily kOperations[] = {
    {"convolution", "f32[1,28,28,16]", "f32[3,3,16,16]", "f32[1,28,28,16]",
     "convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"convolution-of-other-types", "bf16[1,28,28,16]", "bf16[3,3,16,16]", "bf16[1,28,28,16]",
     "convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"inputs-gradient", "f32[1,28,28,16]", "f32[3,3,16,16]", "f32[1,28,28,16]",
     "convolution(a, b), window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f"},
    {"strided-convolution", "f32[1,28,28,16]", "f32[3,3,16,16]", "f32[1,14,14,16]",
     "convolution(a, b), window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=b01f_01io->b01f"},
    {"dilated-convolution", "f32[1,28,28,16]", "f32[3,3,16,16]", "f32[1,28,28,16]",
     "convolution(a, b), window={size=3x3 pad=2_2x2_2 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f"},
    {"weights-gradient", "f32[2,14,14,16]", "f32[2,14,14,16]", "f32[3,3,16,16]",
     "convolution(a, b), window={size=14x14 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"},
    {"volume-convolution", "f32[1,8,8,8,16]", "f32[3,3,3,16,16]", "f32[1,8,8,8,16]",
     "convolution(a, b), window={size=3x3x3 pad=1_1x1_1x1_1}, dim_labels=b012f_012io->b012f"},
    {"grouped-convolution", "f32[1,28,28,16]", "f32[3,3,4,16]", "f32[1,28,28,16]",
     "convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4"},
    {"depthwise-convolution", "f32[1,28,28,16]", "f32[3,3,1,16]", "f32[1,28,28,16]",
     "convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=16"},
    {"depthwise-gradient", "f32[2,14,14,16]", "f32[2,14,14,16]", "f32[3,3,1,16]",
     "convolution(a, b), window={size=14x14 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, batch_group_count=16"},
    {"f32-dot", "f32[2,512]", "f32[512,600]", "f32[2,600]",
     "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"bf16-dot", "bf16[1,512]", "bf16[512,600]", "bf16[1,600]",
     "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"f16-dot", "f16[1,512]", "f16[512,600]", "f16[1,600]",
     "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"small-dot", "f32[64,8,4]", "f32[64,4,8]", "f32[64,8,8]",
     "dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"},
    {"s8-dot", "s8[16,64]", "s8[64,32]", "s32[16,32]", "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
};

std::string program_of(const OfFamily& o) {
  return std::string("HloModule one\nENTRY main {\n  a = ") + o.left + " parameter(0)\n  b = " + o.right +
         " parameter(1)\n  ROOT c = " + o.result + " " + o.operation + "\n}\n";
}

}  // namespace

TEST_CASE("every form offered for convolutions and dots has features", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  for (const OfFamily& operation : kOperations) {
    INFO(operation.family);
    session.load(program_of(operation), "one");
    int found = 0;
    for (const Dimension& d : session.lower({}, false).dimensions) {
      const auto sizes = d.kind == DecisionKind::Rewrite ? operation_sizes(d.key) : std::nullopt;
      if (!sizes) continue;
      INFO(d.key);
      CHECK(operation_family(*sizes) == std::string(operation.family));
      for (size_t i = 1; i < d.options.size(); ++i) {
        INFO(d.options[i]);
        CHECK(features::operation_features(*sizes, {}, d.options[i], {}));
        ++found;
      }
    }
    CHECK(found > 0);
  }
}

}  // namespace hone::tune
