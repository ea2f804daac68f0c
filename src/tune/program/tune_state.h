// What one tune of a program knows, and the moves that change it. Experiments (experiments.h) are functions of this state.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tune/kernel/option_walk.h"
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
    bool whole = true;          // not a part of what it is named after
    bool kernels = false;       // won by themselves: `share` is what they save
    bool with_weights = false;  // among them how weights are stored, before the operations that are for it

    std::string name() const { return "group " + to_text(decisions); }  // for begin()
  };

  // Both must outlive the state.
  TuneState(Measurer& measurer, const TuneOptions& options);

  // ---- time and progress

  // Seconds the search may still take, the time of the confirmation and its check by XLA's interpreter kept back; may be below 0.
  double left() const {
    return run.measurer.seconds_left() - confirmation_s - run.default_run.measurement.interpreter_s;
  }
  // Seconds of one run of the best so far.
  double run_s() const { return run.default_run.measurement.baseline_ns / 1e9 / run.gain; }
  // Seconds that one duel of whole programs is expected to take, the compilation of the candidate included.
  double duel_s() const;
  double compile_s() const;  // of default XLA
  // Rounds of a duel of the program: fewer than usual where those would not fit into the time left, as on a program of seconds a run that
  // an experiment may make ten times as fast; the confirmation decides.
  int trial_rounds() const;
  void say(const std::string& what) const { run.say(what); }

  // ---- candidates

  // Measures the candidate against the best so far, a promising one a second time with more effort, and makes it the best
  // if it is surely faster. Also false if it was tried before against the same best or no time is left.
  bool try_step(const std::string& what, const Decisions& candidate);
  // What was measured of a candidate, or how its outputs differ on other inputs (verify_on_other_inputs), so that it is told from the rest
  // here: the confirmation could only give up all that came with it. Of programs that run for long the confirmation alone sees it.
  // A candidate whose outputs are alike is compared once.
  Measurement on_other_inputs(const Decisions& candidate, const Measurement& measured);
  // Tries the best with all decisions of the group. If that fails, its halves are added to `parts`.
  bool adopt_group(const Group& group);
  // The same of options that won on kernels. With two and more, those that are slower in the program are left out.
  bool adopt_kernels(const Group& group);
  // Whether begin() was called with this experiment under the present best, and under any.
  bool begun(const std::string& experiment) const;
  bool ever_begun(const std::string& experiment) const { return begun_.contains(experiment); }
  void begin(const std::string& experiment) { begun_[experiment] = to_text(best); }

  // ---- lowering

  // Nothing if XLA fails: the failure is logged and the search goes on.
  std::optional<Lowered> try_lower(const Decisions& decisions, bool want_fusion) const;
  // Lowers default XLA, lists its dimensions and profiles it. Throws Error when XLA cannot lower it.
  void lower_default();
  // The same for the best, if decisions other than those about single kernels have changed since. The dimensions are
  // listed again only after passes, layouts and rewrites: later decisions are about the program that these produce.
  void refresh();

  // ---- shares of the best's run time, profiled or estimated

  double share_of(const Kernel& kernel) const;
  double share_of(const Dimension& dimension) const;
  // Of everything except dots and convolutions, which libraries compute.
  double share_outside_libraries() const { return outside_libraries_; }
  // Of what is computed from declared weights alone, the same on every run.
  double share_of_weights() const { return of_weights_; }

  // ---- kernels

  // Searches the options of one kernel. Returns the kernel's gain, a logarithm; 0 if the default is kept.
  double tune_one_kernel(const Kernel& kernel, double budget_s);
  // What measuring the forms of an operation is expected to gain, a logarithm of its time, over what is known of it with other
  // storage of its weights. Nothing without a model of operations, and for operations it does not know.
  std::optional<double> expected_gain(const Kernel& operation) const;
  // The form of each unmeasured operation that a model expects to be faster, most saved time first; none without a model.
  struct PredictedForm {
    Kernel operation;
    std::string form;
    double saved = 0;  // of the program's time
  };
  std::vector<PredictedForm> predicted() const;
  // Operations that the program alone shows, but whose forms a model may know: grouped convolutions, gradients of their weights,
  // batches of small dots. Together they have the share of their family, each by its arithmetic.
  std::vector<std::pair<Kernel, double>> operations_in_program() const;  // with their shares
  // Tries all of them at once, together with `others`, without those that are wrong, or below `least_ratio` over their default,
  // when run by themselves once. `what` is a word for the log.
  void adopt_forms(const std::vector<PredictedForm>& forms, const std::string& what, double least_ratio,
                   const Group& others);
  // Kernels can be timed in the program.
  bool in_place() const { return options.in_place && run.measurer.times_in_place(); }
  int tried_in_place(const Kernel& kernel) const;  // options
  // The search of a kernel whose options are measured in the program; null where the result is known from the database.
  OptionWalk* walk_in_place(const Kernel& kernel);
  // Puts what it has found into the result.
  void report_in_place(const Kernel& kernel, bool complete);
  // Options that won on kernels of the present lowering, or on operations, and are not in the best, most saved time first.
  Group winners(bool of_operations) const;
  // Dots and convolutions are tuned as kernels, their library being the option.
  bool measured_as_kernel(const Dimension& dimension) const;

  const TuneOptions& options;
  SearchRun run;  // the measurer, default XLA, the gain so far, candidates for the confirmation, the result
  Rng rng;
  double confirmation_s;  // kept back for the confirmation

  Decisions best;
  Lowered lowered;                    // of the best without its decisions about kernels, as refresh() last saw it
  std::vector<Dimension> dimensions;  // to decide, what is expected to gain most first; without those of `operations`
  std::vector<Kernel> operations;     // that are measured by themselves (`alone` in graph/decision_families.def)
  std::vector<Group> parts;           // of groups that failed
  std::vector<Contender> contenders;
  std::optional<std::vector<Alternative>> passes, layouts;  // proposals left to try; empty before they are requested
  std::set<std::string>
      measured_programs;                  // fingerprints; other passes or layouts that lower to one of them are skipped
  std::set<std::string> seen_kernels;     // fingerprints: not to be searched by themselves
  std::set<std::string> closed_in_place;  // the same in the program
  int fusion_runs = 0;

 private:
  void list_dimensions();
  void list_operations();
  void profile();
  double share_of_instructions(const std::vector<std::string>& names, const std::map<std::string, double>& times,
                               double total) const;
  void share_operations(double convolutions, double libraries);
  double share_of_broad(const Dimension& dimension) const;

  double runs_of_duel_s(int rounds) const;
  void split(const Group& group);
  KernelReport* report_of(const std::string& fingerprint);
  cost::OperationRanker* ranker_of(const Kernel& operation) const;  // null where it does not know the operation

  std::map<std::string, OptionWalk> walks_;  // of kernels in the program, by fingerprint
  Decisions lowered_under_;
  std::map<std::string, double> kernel_share_;  // by fingerprint
  double outside_libraries_ = 1, dots_ = 0, of_weights_ = 0;
  std::map<DecisionKind, int> dimensions_of_;  // of each kind
  std::set<std::string> tried_;                // pairs of best and candidate
  std::set<std::string> refused_;              // winners that made the program no faster
  std::set<std::string> alike_;                // candidates that on_other_inputs() has compared
  std::map<std::string, std::string> begun_;   // experiments, and the best when they were last begun
};

}  // namespace hone::tune
