// Convolutions and dots by oneDNN with what follows them, on the real compiler; skipped where worker or library are missing.
#include <fmt/core.h>

#include "graph/operation_key.h"
#include "kernels/dnnl_library.h"
#include "tests/skip.h"
#include "tests/tune/program/other_form.h"
#include "tune/session/decision_list.h"

namespace hone::tune {
namespace {

bool no_onednn() {
  if (no_worker()) return true;
  if (dnnl_library() != nullptr) return false;
  skip_case("oneDNN is not installed");
  return true;
}

// Of an image of 12 x 12 x 16 (`b`: batch, spatial, feature), or with the features before the space.
std::string convolution(bool features_last, const std::string& after,
                        const std::string& window = "size=3x3 pad=1_1x1_1", const std::string& groups = "",
                        const char* kernel = "3,3,16,32") {
  return fmt::format(R"(HloModule one
ENTRY main {{
  x = f32[{}] parameter(0)
  w = f32[{}] parameter(1)
  v = f32[32] parameter(2)
  u = f32[32] parameter(3)
  other = f32[{}] parameter(4)
  c = f32[{}] convolution(x, w), window={{{}}}, dim_labels={}{}
{}
}}
)",
                     features_last ? "2,12,12,16" : "2,16,12,12", kernel, features_last ? "2,12,12,32" : "2,32,12,12",
                     features_last ? "2,12,12,32" : "2,32,12,12", window,
                     features_last ? "b01f_01io->b01f" : "bf01_01io->bf01", groups, after);
}

// `%` stands for the shape of the result, `#` for its dimension of features.
std::string placed(std::string text, bool features_last) {
  for (size_t at; (at = text.find('%')) != std::string::npos;)
    text.replace(at, 1, features_last ? "f32[2,12,12,32]" : "f32[2,32,12,12]");
  for (size_t at; (at = text.find('#')) != std::string::npos;) text.replace(at, 1, features_last ? "3" : "1");
  return text;
}

constexpr char kNormalized[] = R"(  a = % broadcast(v), dimensions={#}
  b = % broadcast(u), dimensions={#}
  d = % subtract(c, a)
  e = % multiply(d, b)
  f = % add(e, a)
  zero = f32[] constant(0)
  zeros = % broadcast(zero), dimensions={}
  g = % maximum(f, zeros)
  h = % add(other, g)
  six = f32[] constant(6)
  ROOT r = % clamp(zero, h, six))";

constexpr char kGated[] = R"(  a = % broadcast(v), dimensions={#}
  b = % add(a, c)
  g = % logistic(b)
  s = % multiply(g, b)
  two = f32[] constant(2)
  twos = % broadcast(two), dimensions={}
  d = % subtract(twos, s)
  ROOT r = % tanh(d))";

constexpr char kInference[] = R"(  n = % batch-norm-inference(c, v, u, v, variance), epsilon=0.001, feature_index=#
  ROOT r = % subtract(other, n))";

// The sum is used twice: nothing after it is a step.
constexpr char kUsedTwice[] = R"(  a = % broadcast(v), dimensions={#}
  b = % add(c, a)
  e = % exponential(b)
  ROOT r = (%, %) tuple(b, e))";

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Measures the program with its operation by oneDNN, and returns how it lowers.
std::string by_onednn(Session& session, const std::string& program, FamilyId id) {
  const std::vector<Dimension> found = dimensions_of(session, program, id);
  REQUIRE(found.size() == 1);
  REQUIRE(std::count(found[0].options.begin(), found[0].options.end(), kOneDnn) == 1);
  const Decisions decisions = {{DecisionKind::Rewrite, found[0].key, kOneDnn}};
  const Measurement m = session.measure_program(decisions, {}, kOnce);
  INFO(m.note << "\n" << program);
  CHECK(m.ok());
  const Measurement alone = session.measure_kernel(operation_alone(found[0], {}), kOneDnn, kOnce);
  INFO(alone.note);
  CHECK(alone.ok());
  return session.lower(decisions, false).hlo;
}

Session session_with(int threads, std::vector<int> weights) {
  SessionOptions options = with_worker();
  options.target.weights = std::move(weights);
  options.target.threads = threads;
  return Session(options);
}

}  // namespace

TEST_CASE("oneDNN computes a convolution with the steps after it, for one and for several threads", "[tune]") {
  if (no_onednn()) return;
  for (const int threads : {1, 2}) {
    Session session = session_with(threads, {1, 2, 3});
    for (const bool features_last : {true, false}) {
      INFO(threads << " threads, features last: " << features_last);
      const std::string normalized = by_onednn(session, convolution(features_last, placed(kNormalized, features_last)),
                                               FamilyId::DenseConvolution);
      CHECK(count_of(normalized, "hone.dnnl") == 1);
      CHECK(normalized.find("clamp") == std::string::npos);
      CHECK(normalized.find("\\\"scaled\\\":true") != std::string::npos);
      const std::string gated =
          by_onednn(session, convolution(features_last, placed(kGated, features_last)), FamilyId::DenseConvolution);
      CHECK(gated.find("tanh(") == std::string::npos);
      CHECK(gated.find("logistic(") == std::string::npos);
      const std::string twice =
          by_onednn(session, convolution(features_last, placed(kUsedTwice, features_last)), FamilyId::DenseConvolution);
      CHECK(twice.find("exponential(") != std::string::npos);
    }
  }
}

TEST_CASE("oneDNN normalizes by means and variances", "[tune]") {
  if (no_onednn()) return;
  Session session = session_with(1, {});
  std::string after = placed(kInference, true);
  after = "  variance = f32[32] multiply(u, u)\n" + after;
  const std::string lowered = by_onednn(session, convolution(true, after), FamilyId::DenseConvolution);
  CHECK(lowered.find("f32[2,12,12,32]{3,2,1,0} fusion") == std::string::npos);
  CHECK(lowered.find("\\\"steady\\\":false") != std::string::npos);
}

TEST_CASE("oneDNN computes grouped convolutions and single positions", "[tune]") {
  if (no_onednn()) return;
  Session session = session_with(1, {1});
  const std::string root = "  ROOT r = f32[2,12,12,32] negate(c)";
  by_onednn(session, convolution(true, root, "size=3x3 pad=1_1x1_1", ", feature_group_count=4", "3,3,4,32"),
            FamilyId::GroupedConvolution);
  by_onednn(session, convolution(true, root, "size=1x1", "", "1,1,16,32"), FamilyId::DenseConvolution);
}

TEST_CASE("oneDNN computes dots with the steps after them, weights as they are stored", "[tune]") {
  if (no_onednn()) return;
  const auto dot = [](const char* weights, int contracted, const std::string& after) {
    return fmt::format(R"(HloModule one
ENTRY main {{
  x = f32[2,20,150] parameter(0)
  w = f32[{}] parameter(1)
  v = f32[200] parameter(2)
  other = f32[40,200] parameter(3)
  d = f32[2,20,200] dot(x, w), lhs_contracting_dims={{2}}, rhs_contracting_dims={{{}}}
{}
}}
)",
                       weights, contracted, after);
  };
  const std::string after = R"(  b = f32[2,20,200] broadcast(v), dimensions={2}
  s = f32[2,20,200] add(b, d)
  m = f32[40,200] reshape(s)
  t = f32[40,200] tanh(m)
  ROOT r = f32[40,200] multiply(t, other))";
  for (const int threads : {1, 2}) {
    Session session = session_with(threads, {1});
    for (const std::string& program : {dot("150,200", 0, after), dot("200,150", 1, after)}) {
      const std::string lowered = by_onednn(session, program, FamilyId::FloatDot);
      CHECK(lowered.find("fusion(") == std::string::npos);
      CHECK(lowered.find("\\\"steady\\\":true") != std::string::npos);
    }
  }
}

TEST_CASE("weights are steady where loops hand them on, and where they are made of weights alone", "[tune]") {
  if (no_onednn()) return;
  const auto loop = [](const char* handed_on) {
    return fmt::format(R"(HloModule loop
body {{
  state = (s32[], f32[30,100], f32[100,100]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  x = f32[30,100] get-tuple-element(state), index=1
  w = f32[100,100] get-tuple-element(state), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[30,100] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  z = f32[30,100] tanh(y)
  n = f32[100,100] negate(w)
  ROOT out = (s32[], f32[30,100], f32[100,100]) tuple(next, z, {})
}}
condition {{
  state = (s32[], f32[30,100], f32[100,100]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  five = s32[] constant(9)
  ROOT less = pred[] compare(i, five), direction=LT
}}
ENTRY main {{
  a = f32[30,100] parameter(0)
  w = f32[100,100] parameter(1)
  e = f32[100,100] exponential(w)
  zero = s32[] constant(0)
  start = (s32[], f32[30,100], f32[100,100]) tuple(zero, a, e)
  loop = (s32[], f32[30,100], f32[100,100]) while(start), condition=condition, body=body
  ROOT c = f32[30,100] get-tuple-element(loop), index=1
}}
)",
                       handed_on);
  };
  Session session = session_with(1, {1});
  CHECK(by_onednn(session, loop("w"), FamilyId::FloatDot).find("\\\"steady\\\":true") != std::string::npos);
  CHECK(by_onednn(session, loop("n"), FamilyId::FloatDot).find("\\\"steady\\\":false") != std::string::npos);
  Session undeclared = session_with(1, {});
  CHECK(by_onednn(undeclared, loop("w"), FamilyId::FloatDot).find("\\\"steady\\\":false") != std::string::npos);
}

}  // namespace hone::tune
