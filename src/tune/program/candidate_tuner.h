// Chooses among a few given candidates: each is measured in a duel against default XLA, and the best is confirmed in
// fresh processes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tune/program/confirm.h"

namespace hone::tune {

struct Candidate {
  std::string name;
  Decisions decisions;
};

struct CandidateOptions {
  double min_gain = 1.01;  // over default XLA; the lower bound must also be above 1
  int processes = 3;
  Duel confirm{.min_rounds = 15, .max_rounds = 200, .budget_ms = 3000, .precision = 0.005, .limit_s = 300};
  std::function<void(const std::string& what, double gain)> on_progress = [](const std::string&, double) {};
};

// As for tune_program, the result is default XLA or decisions that the final duels showed to be verified and at least
// as fast as default XLA. The first steps of the result are the candidates, in their order, as far as the time allowed.
// Throws RunError when default XLA cannot run the program.
ProgramResult tune_candidates(Measurer& measurer, const std::vector<Candidate>& candidates,
                              const CandidateOptions& options);

}  // namespace hone::tune
