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

// Scores choices of one program's layouts. Lower is faster; only the order of scores matters.
using LayoutRanker = std::function<std::vector<double>(const LayoutSpace& layouts, std::span<const Choice> choices)>;

// `weights`: a file from hone train layout. Throws Error when it does not exist; the ranker throws when it is not
// valid.
LayoutRanker learned_layout_ranker(const std::string& weights, int threads);

struct LayoutTuneOptions {
  double budget_s = 60;
  uint64_t seed = 0;
  std::string strategy = "greedy";  // proposes and measures when there is no ranker
  LayoutRanker ranker;              // may be empty
  int ranked = 10'000;              // choices sampled for the ranker
  int measured = 16;                // best ranked choices that are measured
  double min_gain = 1.01;           // over default XLA; the lower bound must also be above 1
  int processes = 3;
  Duel confirm{.min_rounds = 15, .max_rounds = 200, .budget_ms = 3000, .precision = 0.005, .limit_s = 300};
  std::function<void(const std::string& what, double gain)> on_progress = [](const std::string&, double) {};

  void validate() const;  // throws Error
};

// As for tune_program, the result is default XLA or decisions that the final duels showed to be verified and at least
// as fast as default XLA. Throws RunError when default XLA cannot run the program.
ProgramResult tune_layouts(Measurer& measurer, const LayoutSpace& layouts, const LayoutTuneOptions& options);

}  // namespace hone::tune
