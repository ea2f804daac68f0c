// What one tune of a program knows, and the moves that change it. Experiments (experiments.h) are functions of this state.
#pragma once

#include <map>
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
    double ratio = 0;   // to the best when it was measured
    std::string under;  // that best
  };
  // Decisions that are tried together. `share`: of the program's time that they change.
  struct Group {
    std::string what;
    Decisions decisions;
    double share = 1;
    bool whole = true;     // not a part of what it is named after
    bool kernels = false;  // won by themselves: `share` is what they save
  };

  // Both must outlive the state.
  TuneState(Measurer& measurer, const TuneOptions& options);

  // ---- time and progress

  // Seconds the search may still take, the confirmation's time kept back; may be below 0.
  double left() const { return run.measurer.seconds_left() - confirmation_s; }
  // Seconds that one duel of whole programs is expected to take, the compilation of the candidate included.
  double duel_s() const;
  void say(const std::string& what) const { run.say(what); }

  // ---- candidates

  // Measures the candidate against the best so far, a promising one a second time with more effort, and makes it the best
  // if it is surely faster. Also false if it was tried before against the same best or no time is left.
  bool try_step(const std::string& what, const Decisions& candidate);
  // Tries the best with all of the group. Where that fails, its halves join `parts`.
  bool adopt_group(const Group& group);
  // True when this experiment was begun under the present best, `before`: under an earlier one. begin() says that it is.
  bool begun(const std::string& experiment) const;
  bool begun_before(const std::string& experiment) const;
  void begin(const std::string& experiment) { begun_[experiment] = to_text(best); }

  // ---- lowering

  // Nothing if XLA fails: the failure is logged and the search goes on.
  std::optional<Lowered> try_lower(const Decisions& decisions, bool want_fusion) const;
  // Lowers default XLA, lists what there is to decide and where the time goes. Throws Error when XLA cannot lower it.
  void lower_default();
  // The same of the best, where other decisions than those about single kernels have changed since. The dimensions are
  // listed anew after passes, layouts and rewrites only: later decisions are about the program that these make.
  void refresh();

  // ---- where the time goes: shares of the best's run time, as far as known

  double share_of(const Kernel& kernel) const;
  double share_of(const Dimension& dimension) const;
  // Of everything but dots and convolutions, whose code is a library's.
  double share_outside_libraries() const { return outside_libraries_; }

  // ---- kernels

  // Looks for the best option of one kernel. The gain of the kernel, a logarithm; 0 where the default is kept.
  double tune_one_kernel(const Kernel& kernel, double budget_s);
  // What won on kernels of the present lowering and is not in the best yet, most saved time first.
  Group winners() const;
  // Dots and convolutions are tuned as kernels, their library being the option.
  bool measured_as_kernel(const Dimension& dimension) const;

  const TuneOptions& options;
  SearchRun run;  // the measurer, default XLA, the gain so far, candidates for the confirmation, the result
  Rng rng;
  double confirmation_s;  // kept back for the confirmation

  Decisions best;
  Lowered lowered;                    // of the best without its decisions about kernels, as refresh() last saw it
  std::vector<Dimension> dimensions;  // to decide, what is expected to gain most first
  std::vector<Group> parts;           // of groups that failed as a whole
  std::vector<Contender> contenders;
  std::optional<std::vector<Alternative>> passes, layouts;  // proposed; nothing before the first is asked for
  std::set<std::string>
      measured_programs;               // fingerprints; other passes or layouts that lower to one of them are skipped
  std::set<std::string> seen_kernels;  // fingerprints
  int fusion_runs = 0;

 private:
  void look_where_time_goes();
  double share_of_broad(const Dimension& dimension) const;

  Decisions lowered_under_;
  std::map<std::string, double> kernel_share_;  // by fingerprint
  double outside_libraries_ = 1, dots_ = 0;
  std::map<DecisionKind, int> dimensions_of_;  // of each kind
  std::set<std::string> tried_;                // pairs of best and candidate
  std::set<std::string> refused_;              // winners that made the program no faster
  std::map<std::string, std::string> begun_;   // experiments, and the best when they were last begun
};

}  // namespace hone::tune
