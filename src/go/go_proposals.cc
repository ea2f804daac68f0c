#include "go/go_proposals.h"

#include <algorithm>
#include <cmath>

namespace hone::go {

namespace {

using options::kGoTasks;

constexpr double kTaskShare = 0.7;  // of variants that sample a task again
// A proposal changes a decision only if the policy prefers another by more than this, in log-probability.
constexpr float kMargins[] = {0, 2, 4};

double gumbel(Rng& rng) { return -std::log(-std::log(std::max(rng.uniform(), 1e-12))); }

// The plan with the most probable decisions of the tasks in `subset` (bits), where the policy prefers them by more than
// `margin` of log-probability.
GoActions toward_mode(const GoGraph& graph, const GoScores& scores, GoActions plan, int subset, float margin) {
  for (int task = 0; task < kGoTasks; ++task) {
    if (!(subset >> task & 1) || !scores.tasks[task].decided()) continue;
    const int64_t choices = scores.tasks[task].choices;
    for (int64_t v = 0; v < graph.nodes; ++v) {
      const float* p = scores.tasks[task].log_probs.data() + v * choices;
      const auto mode = static_cast<int32_t>(std::max_element(p, p + choices) - p);
      if (graph.decides[task][v] > 0 && p[mode] - p[plan[task][v]] > margin) plan[task][v] = mode;
    }
  }
  return plan;
}

}  // namespace

GoActions most_probable(const GoGraph& graph, const GoScores& scores, const GoActions& plan) {
  return toward_mode(graph, scores, plan, (1 << kGoTasks) - 1, 0);
}

int32_t cut_into_blocks(const GoGraph& graph, Rng& rng, std::vector<int32_t>& block) {
  const double length = std::pow(static_cast<double>(graph.nodes), rng.uniform());  // expected size of a block
  block.resize(graph.nodes);
  int32_t blocks = 0;
  if (rng.uniform() < 0.5) {  // ranges of the topological order
    double left = 0;
    for (int64_t v = 0; v < graph.nodes; ++v, --left) {
      if (left < 1) {
        left += 2 * length * rng.uniform() + 1;
        ++blocks;
      }
      block[v] = blocks - 1;
    }
    return blocks;
  }
  for (int64_t v = 0; v < graph.nodes; ++v)  // trees along the largest operands
    block[v] = graph.heaviest[v] >= 0 && rng.uniform() < 1 - 1 / length ? block[graph.heaviest[v]] : blocks++;
  return blocks;
}

std::vector<GoActions> propose(const GoGraph& graph, const GoScores& scores, const GoActions& plan) {
  constexpr int kSubsets = 1 << kGoTasks;
  std::vector<GoActions> proposals;
  const auto add_move = [&](int subset, float margin) {
    GoActions moved = toward_mode(graph, scores, plan, subset, margin);
    if (moved != plan && std::find(proposals.begin(), proposals.end(), moved) == proposals.end())
      proposals.push_back(std::move(moved));
  };
  for (const float margin : kMargins) add_move(kSubsets - 1, margin);
  for (int subset = 1; subset < kSubsets - 1; ++subset) add_move(subset, 0);
  return proposals;
}

GoDraws draw(const GoGraph& graph, const GoScores& scores, const GoActions& around, int64_t samples, Rng& rng) {
  GoDraws draws;
  std::vector<int32_t> block;
  std::vector<double> noise;
  std::vector<char> drawn;
  for (int64_t k = 0; k < samples; ++k) {
    draws.actions.push_back(around);
    auto& marks = draws.drawn.emplace_back();
    const int32_t blocks = cut_into_blocks(graph, rng, block);
    const double share = static_cast<double>(int64_t{1} << rng.below(5)) / blocks;
    drawn.assign(blocks, 0);
    for (char& one : drawn) one = rng.uniform() < share;
    drawn[rng.below(blocks)] = 1;
    for (int task = 0; task < kGoTasks; ++task) {
      marks[task].assign(graph.nodes, 0.0f);
      if (!scores.tasks[task].decided() || rng.uniform() > kTaskShare) continue;
      const int64_t choices = scores.tasks[task].choices;
      noise.resize(blocks * choices);
      for (int32_t b = 0; b < blocks; ++b)
        for (int64_t c = 0; drawn[b] && c < choices; ++c) noise[b * choices + c] = gumbel(rng);
      const float *p = scores.tasks[task].log_probs.data(), *decides = graph.decides[task].data();
      for (int64_t v = 0; v < graph.nodes; ++v) {
        if (!drawn[block[v]] || decides[v] <= 0) continue;
        const double* g = noise.data() + block[v] * choices;
        int64_t best = 0;
        for (int64_t c = 1; c < choices; ++c)
          if (p[v * choices + c] + g[c] > p[v * choices + best] + g[best]) best = c;
        draws.actions.back()[task][v] = static_cast<int32_t>(best);
        marks[task][v] = 1;
      }
    }
  }
  return draws;
}

}  // namespace hone::go
