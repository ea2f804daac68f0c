// The state of one tune of a program, and the moves that change it. The steps of a tune (tune_steps.h) work on this
// state.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tune/program/confirm.h"
#include "tune/program/tune_options.h"

namespace hone::tune {

struct TuneState {
  // A proposal of passes or layouts that was close to the best without beating it.
  struct Contender {
    Alternative alternative;
    double ratio = 0;  // against the best at the time of measuring
  };

  // Both must outlive the state.
  TuneState(Measurer& measurer, const TuneOptions& options);

  // ---- time and progress

  // Seconds the search may still take, the confirmation's time kept back; may be below 0.
  double left() const { return run.measurer.seconds_left() - confirmation_s; }
  void say(const std::string& what) const { run.say(what); }

  // ---- candidates

  // Measures the candidate against the best so far, a promising one a second time with more effort, and makes it the best
  // if it is surely faster. Also false if it was tried before against the same best or no time is left.
  bool try_step(const std::string& what, const Decisions& candidate);
  // Tries the best with the whole group (sorted by expected gain, largest first), else with its halves, and so on down
  // to
  // single decisions. True when any of them was kept.
  bool adopt_group(const std::string& what, const Decisions& group);

  // ---- lowering

  // Nothing if XLA fails: the failure is logged and the search goes on.
  std::optional<Lowered> try_lower(const Decisions& decisions, bool want_fusion) const;
  // Updates `lowered` to the best so far; lowers only if the best has changed.
  void lower_best();
  // A kept step about `kind` may have created new kernels: tunes them.
  void lowering_changed(DecisionKind kind);

  // ---- kernels

  // Tunes the kernels that were not seen before, then adopts the winners as a group.
  void tune_new_kernels(const Lowered& of, double budget_s);
  // Dots and convolutions are tuned as kernels, their library being the option.
  bool measured_as_kernel(const Dimension& dimension) const;

  const TuneOptions& options;
  SearchRun run;  // the measurer, default XLA, the gain so far, candidates for the confirmation, the result
  Rng rng;
  double confirmation_s;        // reserved for the confirmation
  double fusion_reserve_s = 0;  // of the search, reserved for fusion

  Decisions best;
  Lowered lowered;                    // of the best as lower_best() last saw it
  std::vector<Dimension> dimensions;  // to decide, by expected gain, largest first
  std::string tuned_lowering;         // fingerprint of the lowering whose kernels were last looked at
  std::vector<Contender> contenders;
  std::set<std::string>
      measured_programs;               // fingerprints; other passes or layouts that lower to one of them are skipped
  std::set<std::string> seen_kernels;  // fingerprints

 private:
  // `whole`: all of what the group was called after, not a part of it.
  bool adopt_part(const std::string& what, const Decisions& group, bool whole, int& trials);
  void adopt_kernels(size_t first);

  Decisions lowered_under_;
  std::set<std::string> tried_;  // pairs of best and candidate
};

}  // namespace hone::tune
