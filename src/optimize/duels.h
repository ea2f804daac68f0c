// Choices that models do not settle: each has a duel of its own against the program without it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tune/session/measurer.h"

namespace hone::optimize {

struct DuelCandidate {
  Decision decision;
  std::string kind;  // "layout", "threads"
  std::string default_value;
  double margin = 0;  // predicted: the logarithm of the times' ratio; 0 where nothing is
};

// One that won, with its duel.
struct DuelWinner {
  DuelCandidate candidate;
  tune::Measurement measurement;
};

struct DuelRules {
  tune::Duel duel = {};
  std::function<bool(const tune::Measurement&)> wins = nullptr;
  int most = 100;          // candidates
  bool confirmed = false;  // a winner has to win again in another process; the smaller ratio counts
};

// Those that win over the program under `base` and the winners before them. Of one key the first that wins.
std::vector<DuelWinner> winners_of_duels(tune::Measurer& measurer, const Decisions& base,
                                         const std::vector<DuelCandidate>& candidates, const DuelRules& rules);

}  // namespace hone::optimize
