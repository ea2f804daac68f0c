// Programs with weights in bf16 beside the original, on the real compiler; skipped where the worker is not built.
#include "tune/session/precision.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.h"
#include "graph/decision_family.h"
#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

NamedArray array(const std::string& name, std::vector<int64_t> dims, const std::vector<float>& values) {
  NamedArray made{.name = name, .type = "f32", .dims = std::move(dims), .bytes = {}};
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  made.bytes.assign(bytes, bytes + values.size() * sizeof(float));
  return made;
}

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
  const std::string converted = session.converted(kBf16Weights, report);
  CHECK(report.kind == kBf16Weights);
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
  options.target.precision = kBf16Weights;
  Session session(options);
  session.load(
      "HloModule d\nENTRY main {\n  x = f32[1,2] parameter(0)\n  w = f32[2,3] parameter(1)\n  ROOT y = f32[1,3] dot(x, "
      "w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
      "dot");
  // 1 + 2^-8 lies between two numbers of bf16: to the even one, 1; 1 + 3 * 2^-8 to 1 + 2^-6.
  const std::vector<NamedArray> inputs = {
      array("arr_0", {1, 2}, {1, 2}),
      array("arr_1", {2, 3}, {1.00390625f, 1.01171875f, 3, 0, 0, 5}),
  };
  session.set_inputs(inputs);
  PrecisionReport report;
  session.load(session.converted(kBf16Weights, report), "dot");
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
    CHECK_THROWS_WITH(session.converted(kBf16Weights, report), Catch::Contains("no declared weight"));
  }
}

namespace {

// One row: parameter 1 in a dot and in a gather of rows, transposed in the dot; 2 in a dot; 3 in a dot of many rows; 4 is small.
constexpr char kDecoder[] = R"(HloModule decoder
ENTRY main {
  i = s32[1] parameter(0)
  e = f32[300,128] parameter(1)
  w = f32[128,200] parameter(2)
  m = f32[200,200] parameter(3)
  s = f32[200,8] parameter(4)
  x = f32[1,128] gather(e, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,128}
  d = f32[1,200] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[128,300] transpose(e), dimensions={1,0}
  l = f32[1,300] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  r = f32[200] reshape(d)
  b = f32[30,200] broadcast(r), dimensions={1}
  n = f32[30,200] dot(b, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[30,8] dot(n, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT o = (f32[1,200], f32[1,300], f32[1,128], f32[30,8]) tuple(d, l, x, f)
}
)";

}  // namespace

TEST_CASE("large weights of dots of a few rows become bytes with factors", "[tune]") {
  if (no_worker()) return;
  SessionOptions options = with_weights({1, 2, 3, 4});
  options.target.precision = kInt8Weights;
  Session session(options);
  session.load(kDecoder, "decoder");
  const std::vector<std::string> given = session.program().parameters;
  PrecisionReport report;
  const std::string converted = session.converted(kInt8Weights, report);
  CHECK(report.kind == kInt8Weights);
  CHECK(report.weights == 2);
  CHECK(report.dots == 2);
  session.load(converted, "decoder");
  CHECK(session.program().parameters == given);  // inputs are the original's

  // Each dot of bytes by the kernel is that of default XLA.
  Decisions decisions;
  for (const Dimension& d : session.lower({}, false).dimensions)
    if (d.key.find("*s8[") != std::string::npos) {
      CHECK(d.options == std::vector<std::string>{kNotRewritten, kFewRows});
      decisions.push_back({d.kind, d.key, kFewRows});
    }
  REQUIRE(decisions.size() == 2);
  const Measurement m = session.measure_program(decisions, {}, {.min_rounds = 1, .max_rounds = 1, .budget_ms = 1});
  INFO(m.note);
  CHECK(m.ok());
  CHECK(session.lower(decisions, false).hlo.find("hone.few_rows") != std::string::npos);

  session.judge_precision(kDecoder, decisions, report);
  CHECK(report.against_f64);
  REQUIRE(report.outputs.size() == 4);
  for (const OutputPrecision& output : report.outputs) {
    INFO(output.shape);
    CHECK(output.mean > 1e-4);  // bytes keep 7 bits
    CHECK(output.mean < 0.05);
    CHECK(output.default_largest < 1e-5);
  }
}

TEST_CASE("bytes are the nearest multiples of the factors of their outputs", "[tune]") {
  if (no_worker()) return;
  SessionOptions options = with_weights({1});
  options.target.precision = kInt8Weights;
  Session session(options);
  session.load(
      "HloModule d\nENTRY main {\n  x = f32[1,128] parameter(0)\n  w = f32[128,128] parameter(1)\n  ROOT y = "
      "f32[1,128] "
      "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
      "dot");
  // Column 0: 127 and 2.4, rounded to 2; column 1: zeros; column 2: 1.27 and -0.333, of which 1.27 / 127 keeps -33.
  std::vector<float> x(128, 0), w(128 * 128, 0);
  x[0] = x[1] = 1;
  w[0] = 127, w[128] = 2.4f, w[2] = 1.27f, w[130] = -0.333f;
  const std::vector<NamedArray> inputs = {array("arr_0", {1, 128}, x), array("arr_1", {128, 128}, w)};
  PrecisionReport report;
  session.set_inputs(inputs);
  session.load(session.converted(kInt8Weights, report), "dot");
  session.set_inputs(inputs);
  const auto reply = session.run({}, 1, /*want_outputs=*/true);
  float outputs[3];
  std::memcpy(outputs, reply.outputs.at(0)->data.data(), sizeof outputs);
  CHECK(outputs[0] == 129);
  CHECK(outputs[1] == 0);
  CHECK(outputs[2] == Approx(0.94));
}

TEST_CASE("a program without a weight for bytes is refused", "[tune]") {
  if (no_worker()) return;
  for (const std::vector<int>& weights : {std::vector<int>{}, std::vector<int>{3}, std::vector<int>{4}}) {
    Session session(with_weights(weights));
    session.load(kDecoder, "decoder");
    PrecisionReport report;
    CHECK_THROWS_WITH(session.converted(kInt8Weights, report), Catch::Contains("no declared weight"));
  }
}

}  // namespace hone::tune
