// Decides the layouts of a program: candidates are proposed by a ranker or a search strategy, measured in duels against
// default XLA, and the best is confirmed in fresh processes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/layout_space.h"
#include "tune/program/confirm.h"

namespace hone::tune {

// Scores of choices of one program's layouts, lower is faster; only their order counts.
using LayoutRanker = std::function<std::vector<double>(const LayoutSpace& layouts, std::span<const Choice> choices)>;

// Weights of hone train layout. Throws Error when there is no such file; the ranker throws what is wrong with it.
LayoutRanker learned_layout_ranker(const std::string& weights, int threads);

struct LayoutTuneOptions {
  double budget_s = 60;
  uint64_t seed = 0;
  std::string strategy = "greedy";  // proposes and measures when there is no ranker
  LayoutRanker ranker;              // may be empty
  int ranked = 10'000;              // choices sampled for the ranker
  int measured = 16;                // of its best
  double min_gain = 1.01;           // over default XLA, and surely faster
  int processes = 3;
  Duel confirm{.min_rounds = 15, .max_rounds = 200, .budget_ms = 3000, .precision = 0.005, .limit_s = 300};
  std::function<void(const std::string& what, double gain)> on_progress = [](const std::string&, double) {};

  void validate() const;  // throws Error
};

// As tune_program: never a result that the final duels did not show to be verified and at least as fast as default XLA,
// unless it is default XLA itself. Throws RunError when default XLA cannot run the program.
ProgramResult tune_layouts(Measurer& measurer, const LayoutSpace& layouts, const LayoutTuneOptions& options);

}  // namespace hone::tune
