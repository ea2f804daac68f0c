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

// Kernels as text in which every name is a number, with their counts: independent of the names that XLA chose.
std::map<std::string, int> kernel_texts(const Lowered& lowered) {
  std::map<std::string, int> texts;
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
    texts[text] += kernel.count;
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
