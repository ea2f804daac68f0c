// What one tune of a program knows, and the moves that change it. The steps of a tune (tune_steps.h) are functions of this
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
  // A proposal of passes or layouts that came near the best without beating it.
  struct Contender {
    Alternative alternative;
    double ratio = 0;  // to the best when it was measured
  };

  // Both must outlive the state.
  TuneState(Measurer& measurer, const TuneOptions& options);

  // ---- time and progress

  // Seconds the search may still take, the confirmation's time kept back; may be below 0.
  double left() const { return run.measurer.seconds_left() - confirmation_s; }
  void say(const std::string& what) const { run.say(what); }

  // ---- candidates

  // Measures the candidate against the best so far, a promising one a second time with more effort, and makes it the best
  // when it is surely faster. False also where it was tried before on the same best or no time is left.
  bool try_step(const std::string& what, const Decisions& candidate);
  // Tries the best with all of the group (what is expected to gain most first), else with its halves, and so on down to
  // single decisions. True when any of them was kept.
  bool adopt_group(const std::string& what, const Decisions& group);

  // ---- lowering

  // Nothing where XLA fails: that costs the part of the search that wanted to know, not its result.
  std::optional<Lowered> try_lower(const Decisions& decisions, bool want_fusion) const;
  // Makes `lowered` that of the best so far; asks only where the best has changed.
  void lower_best();
  // After a kept step about `kind` other kernels may exist: tunes those that are new.
  void lowering_changed(DecisionKind kind);

  // ---- kernels

  // Tunes the kernels that were not seen before, then adopts the winners as a group.
  void tune_new_kernels(const Lowered& of, double budget_s);
  // Dots and convolutions are tuned as kernels, their library being the option.
  bool measured_as_kernel(const Dimension& dimension) const;

  const TuneOptions& options;
  SearchRun run;  // the measurer, default XLA, the gain so far, what is worth a confirmation, the result
  Rng rng;
  double confirmation_s;        // kept back for the confirmation
  double fusion_reserve_s = 0;  // of the search, kept back for fusion

  Decisions best;
  Lowered lowered;                    // of the best as lower_best() last saw it
  std::vector<Dimension> dimensions;  // to decide, what is expected to gain most first
  std::string tuned_lowering;         // fingerprint of the lowering whose kernels were last looked at
  std::vector<Contender> contenders;
  std::set<std::string>
      measured_programs;  // fingerprints: those of other passes or layouts that XLA makes equal are skipped
  std::set<std::string> seen_kernels;  // fingerprints

 private:
  // `whole`: all of what the group was called after, not a part of it.
  bool adopt_part(const std::string& what, const Decisions& group, bool whole, int& trials);
  void adopt_kernels(size_t first);

  Decisions lowered_under_;
  std::set<std::string> tried_;  // pairs of best and candidate
};

}  // namespace hone::tune
