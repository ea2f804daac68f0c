// Programs with weights in bf16 beside the original, on the real compiler; skipped where the worker is not built.
#include "tune/session/precision.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"
#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

// Reads parameter 1 in a dot and a gather, 2 transposed in a dot, 3 in a dot and in a sum, 4 in a sum.
constexpr char kProgram[] = R"(HloModule layers
ENTRY main {
  x = f32[6,40] parameter(0)
  w = f32[40,24] parameter(1)
  u = f32[16,24] parameter(2)
  v = f32[16,16] parameter(3)
  b = f32[6,16] parameter(4)
  i = s32[6] parameter(5)
  d = f32[6,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[24,16] transpose(u), dimensions={1,0}
  e = f32[6,16] dot(d, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[6,16] dot(e, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[] constant(0)
  s = f32[6,16] pad(v, z), padding=0_-10x0_0
  g = f32[6,16] add(f, s)
  h = f32[6,16] add(g, b)
  r = f32[6,24] gather(w, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,24}
  ROOT o = (f32[6,16], f32[6,24]) tuple(h, r)
}
)";

SessionOptions with_weights(std::vector<int> weights) {
  SessionOptions options = with_worker();
  options.target.weights = std::move(weights);
  return options;
}

}  // namespace

TEST_CASE("weights that dots read become bf16, and the report says what that costs", "[tune]") {
  if (no_worker()) return;
  Session session(with_weights({1, 2, 3, 4}));
  session.load(kProgram, "layers");
  PrecisionReport report;
  const std::string converted = session.in_bf16(report);
  CHECK(report.kind == kBf16);
  CHECK(report.weights == 2);
  CHECK(report.dots == 2);
  session.load(converted, "layers");
  CHECK(session.program().parameters ==
        std::vector<std::string>{"f32[6,40]", "bf16[40,24]", "bf16[16,24]", "f32[16,16]", "f32[6,16]", "s32[6]"});
  CHECK(session.program().results == std::vector<std::string>{"f32[6,16]", "f32[6,24]"});

  session.judge_precision(kProgram, {}, report);
  CHECK(report.against_f64);
  CHECK(report.original_ns > 0);
  CHECK(report.ratio > 0);
  REQUIRE(report.outputs.size() == 2);
  for (const OutputPrecision& output : report.outputs) {
    INFO(output.shape);
    CHECK(output.mean > 1e-5);  // bf16 keeps 8 bits
    CHECK(output.mean < 0.02);
    CHECK(output.largest >= output.mean);
    CHECK(output.default_largest < 1e-5);
  }
  CHECK(report.outputs[0].same_argmax > 0.5);
  CHECK(report.outputs[1].default_largest == 0);  // gathered as they are
}

TEST_CASE("a program of lower precision takes the original's inputs", "[tune]") {
  if (no_worker()) return;
  SessionOptions options = with_weights({1});
  options.target.precision = kBf16;
  Session session(options);
  session.load(
      "HloModule d\nENTRY main {\n  x = f32[1,2] parameter(0)\n  w = f32[2,3] parameter(1)\n  ROOT y = f32[1,3] dot(x, "
      "w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
      "dot");
  const auto array = [](const std::string& name, std::vector<int64_t> dims, const std::vector<float>& values) {
    NamedArray made{.name = name, .type = "f32", .dims = std::move(dims), .bytes = {}};
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    made.bytes.assign(bytes, bytes + values.size() * sizeof(float));
    return made;
  };
  // 1 + 2^-8 lies between two numbers of bf16: to the even one, 1; 1 + 3 * 2^-8 to 1 + 2^-6.
  const std::vector<NamedArray> inputs = {
      array("arr_0", {1, 2}, {1, 2}),
      array("arr_1", {2, 3}, {1.00390625f, 1.01171875f, 3, 0, 0, 5}),
  };
  session.set_inputs(inputs);
  PrecisionReport report;
  session.load(session.in_bf16(report), "dot");
  session.set_inputs(inputs);
  const auto reply = session.run({}, 1, /*want_outputs=*/true);
  std::vector<float> outputs(3);
  REQUIRE(reply.outputs.at(0)->data.size() == sizeof(float) * outputs.size());
  std::memcpy(outputs.data(), reply.outputs[0]->data.data(), sizeof(float) * outputs.size());
  CHECK(outputs == std::vector<float>{1, 1.015625f, 13});
}

TEST_CASE("a program without a weight for lower precision is refused", "[tune]") {
  if (no_worker()) return;
  for (const std::vector<int>& weights : {std::vector<int>{}, std::vector<int>{3}, std::vector<int>{4, 5}}) {
    Session session(with_weights(weights));
    session.load(kProgram, "layers");
    PrecisionReport report;
    CHECK_THROWS_WITH(session.in_bf16(report), Catch::Contains("no declared weight"));
  }
}

}  // namespace hone::tune
