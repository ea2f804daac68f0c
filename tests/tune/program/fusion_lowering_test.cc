// The fast methods for listing a configuration's kernels agree with a whole lowering.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "base/files.h"
#include "base/rng.h"
#include "tests/tune/program/chain.h"
#include "tune/session/session.h"

namespace hone::tune {

namespace {

// Kernels as text in which every name is a number, with their counts and runs: independent of the names that XLA chose.
std::map<std::string, std::pair<int, double>> kernel_texts(const Lowered& lowered) {
  std::map<std::string, std::pair<int, double>> texts;
  for (const Kernel& kernel : lowered.kernels) {
    std::string hlo = kernel.hlo.substr(kernel.hlo.find('\n'));
    for (size_t at; (at = hlo.find("/*")) != hlo.npos;)
      hlo.erase(at, hlo.find("*/", at) + 2 - at);  // before every fifth operand
    std::map<std::string, size_t> numbers;
    std::string text = kernel.default_tile;
    for (size_t i = 0; i < hlo.size();) {
      const size_t end = std::max(i + 1, std::min(hlo.find_first_of(" ,:)({}=\n", i), hlo.size()));
      const std::string part = hlo.substr(i, end - i);
      const bool declared = end < hlo.size() && hlo[end] == ':';  // "name: f32[8]" in the head of a computation
      const std::string name = part[0] == '%' ? part.substr(1) : part;
      const bool is_name = name.size() > 1 && (declared || part[0] == '%');
      text += is_name ? std::to_string(numbers.emplace(name, numbers.size()).first->second) : part;
      i = end;
    }
    texts[text].first += kernel.count;
    texts[text].second += kernel.runs;
  }
  return texts;
}

Decisions some_fusions(const std::vector<Dimension>& edges, Rng& rng) {
  const uint64_t share = 1 + rng.below(10);  // tenths of the edges
  Decisions decisions;
  for (const Dimension& edge : edges)
    if (rng.below(10) < share)
      decisions.push_back({DecisionKind::Fusion, edge.key, edge.options[1 - edge.default_option]});
  std::sort(decisions.begin(), decisions.end());
  return decisions;
}

}  // namespace

TEST_CASE("kernels of a loop run as often as it has steps", "[tune]") {
  if (no_worker()) return;
  const auto session_of = [](const std::string& steps) {
    auto session = std::make_unique<Session>(with_worker());
    session->load(R"(HloModule loop
step {
  s = (s32[], f32[64,64], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  x = f32[64,64] get-tuple-element(s), index=1
  last = s32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(n, one)
  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[64,64], s32[]) tuple(next, d, last)
}
more {
  s = (s32[], f32[64,64], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  last = s32[] get-tuple-element(s), index=2
  seven = s32[] constant(7)
  ROOT less = pred[] compare(n, )" +
                      steps + R"(), direction=LT
}
ENTRY main {
  a = f32[64,64] parameter(0)
  steps = s32[] parameter(1)
  zero = s32[] constant(0)
  e = f32[64,64] exponential(a)
  t = (s32[], f32[64,64], s32[]) tuple(zero, e, steps)
  w = (s32[], f32[64,64], s32[]) while(t), condition=more, body=step
  ROOT r = f32[64,64] get-tuple-element(w), index=1
})",
                  "loop.hlo");
    return session;
  };
  const auto runs_of_dot = [](const Lowered& lowered) {
    const auto dot = std::find_if(lowered.kernels.begin(), lowered.kernels.end(),
                                  [](const Kernel& kernel) { return kernel.kind == "dot"; });
    REQUIRE(dot != lowered.kernels.end());
    CHECK(dot->count == 1);
    return dot->runs;
  };
  const Lowered known = session_of("seven")->lower({}, false), unknown = session_of("last")->lower({}, false);
  CHECK(runs_of_dot(known) == 7);
  CHECK(known.unknown_loops == 0);
  CHECK(runs_of_dot(session_of("seven")->lower_kernels({})) == 7);
  CHECK(runs_of_dot(unknown) == 1);
  CHECK(unknown.unknown_loops == 1);
  // The exponential reads all of its parameter, the dot what was computed.
  for (const Kernel& kernel : known.kernels) CHECK(kernel.outside_bytes <= 64 * 64 * 4);
  CHECK(known.outside_bytes >= 2 * 64 * 64 * 4);
  // A product cannot be written over its operand: each step copies it back to where the loop expects it.
  const Moved each_step{2 * 64 * 64 * 4, 7};
  CHECK(std::count(known.moved.begin(), known.moved.end(), each_step) == 1);
  CHECK(std::is_sorted(known.moved.begin(), known.moved.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; }));
}

TEST_CASE("lowering without text finds the same kernels", "[tune]") {
  if (no_worker()) return;
  auto session = chain_session();
  const Lowered full = session->lower({}, true), lean = session->lower_kernels({});
  CHECK(lean.hlo.empty());
  CHECK_FALSE(full.hlo.empty());
  CHECK(kernel_texts(lean) == kernel_texts(full));
  CHECK(session->lower_kernels({}).fingerprint == lean.fingerprint);
  for (const Kernel& kernel : lean.kernels) {
    CHECK_FALSE(kernel.module.empty());
    for (const std::string& option : kernel.dimension.options) CHECK(option.find("tile=") == std::string::npos);
  }
}

TEST_CASE("a snapshot before fusion gives the kernels of a whole lowering", "[tune]") {
  if (no_worker()) return;
  const char* name = GENERATE("transformer_block", "softmax_gelu_chain", "lstm_scan", "group_norm_block", "train_step");
  Session session(with_worker());
  session.load(read_file(std::string(HONE_SOURCE_DIR "/examples/") + name + ".mlir"), name);
  const std::vector<Dimension> edges = edges_of(session.lower({}, true));
  REQUIRE_FALSE(edges.empty());
  Rng rng(7);
  std::set<std::string> programs;
  for (int i = 0; i < 8; ++i) {
    Decisions decisions = some_fusions(edges, rng);
    if (i % 4 == 3) decisions.push_back({DecisionKind::Option, "fusion_duplication", "forbid"});
    // Neighbours, some of which are in the worker's cache: it must not confuse them.
    for (int n = 0; n < 4; ++n) {
      const Dimension& edge = edges[rng.below(static_cast<int64_t>(edges.size()))];
      const Decision flip{DecisionKind::Fusion, edge.key, edge.options[1 - edge.default_option]};
      session.lower_kernels(decisions);
      if (std::erase(decisions, flip) == 0) decisions.push_back(flip);
      std::sort(decisions.begin(), decisions.end());
    }
    const Lowered lean = session.lower_kernels(decisions);
    const bool same = kernel_texts(lean) == kernel_texts(session.lower(decisions, false));
    CHECK(same);
    programs.insert(lean.fingerprint);
  }
  CHECK(programs.size() > 4);
}

}  // namespace hone::tune
