// Duels of the program decide whether choices stay: all of them against default XLA, and those that models do not settle each against the
// program without it. docs/decisions/0074-a-guard-for-choices.md.
#pragma once

#include <string>
#include <vector>

#include "tune/session/measurer.h"

namespace hone::optimize {

// No duel: what is compiled runs once, and its outputs are compared.
inline constexpr tune::Duel kOneRound{.min_rounds = 1, .max_rounds = 1, .budget_ms = 0, .precision = 1};

struct DuelCandidate {
  Decision decision;
  std::string kind;  // "layout", "threads"
  std::string default_value;
  double margin = 0;  // the predicted logarithm of the times' ratio; 0 without a prediction
};

// One that won, with its duel.
struct DuelWinner {
  DuelCandidate candidate;
  tune::Measurement measurement;
};

class Guard {
 public:
  // `seconds` of one duel; 0: none is run, and everything gains. `verify_limit_s`: of one run.
  Guard(tune::Measurer& measurer, double seconds, double verify_limit_s)
      : measurer_(measurer), seconds_(seconds), verify_limit_s_(verify_limit_s) {}

  bool on() const { return seconds_ > 0; }
  // Of the program: how fast it is then differs from process to process, by up to a factor of four, so that one says little.
  void set_several_threads(bool several) { several_threads_ = several; }

  // Surely faster, by what another process may be off.
  bool gains(const tune::Measurement& m) const;
  // In one process.
  tune::Measurement duel(const Decisions& candidate, const Decisions& against);
  // The program beside default XLA: outputs, also on other inputs where it gains, and the duel. A gain below 1.05 is there in a second
  // process; with several threads the verdict is that of two processes, or of the third where they differ, and the smaller ratio counts.
  tune::Measurement check(const Decisions& decisions);
  // Of candidates those that win over the program under `base` and the winners before them, of one key the first; at most `most` have a
  // duel. With several threads a winner has won in two processes.
  std::vector<DuelWinner> winners(const Decisions& base, const std::vector<DuelCandidate>& candidates, int most);

 private:
  tune::Measurement duel_anew(const Decisions& candidate, const Decisions& against);  // in a process of its own
  tune::Measurement duel_in_processes(const Decisions& decisions);

  tune::Measurer& measurer_;
  double seconds_, verify_limit_s_;
  bool several_threads_ = false;
};

}  // namespace hone::optimize
