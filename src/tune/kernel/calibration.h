// Calibration of a model's ranking: the measured gains of the options it preferred on kernels it had not seen, and how
// often they were slower. Choices without measuring are based on this alone.
//
// A model's scores order the options of one kernel; the predicted margin of an option is the default's score less its
// own. Each transition between code generators has its own threshold, since transitions differ more than kernels do:
// replacing XLA's tiles by loops may be faster where another unrolling of the same loop is noise.
#pragma once

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cost/learn_library.h"
#include "data/dataset.h"
#include "tune/session/measurer.h"

namespace hone::tune {

// "tiled to loop", "loop to loop", ...; "dot" or "convolution" for another library.
std::string transition(const std::string& kernel_kind, bool default_tiled, bool option_tiled);

// The best ranked option of each transition, by its index, with its margin: the score of the default less that of the
// option, or the difference of logarithms for run times. Below 0 where the model prefers the default. `tiled`: whether
// the tiled emitter is used, for each option. Throws InternalError for sizes that do not match.
struct PredictedMargin {
  int option = -1;
  double margin = 0;
};
std::map<std::string, PredictedMargin> predicted_margins(const std::string& kernel_kind,
                                                         const std::vector<double>& scores,
                                                         const std::vector<bool>& tiled, int default_option,
                                                         bool scores_are_ns);

// The best ranked option of one transition of one kernel, and its measured gain.
struct RankedGain {
  std::string program;
  double margin = 0;
  double gain = 0;  // log of the default's run time over that of the best ranked option, measured
};

// The predicted margin from which a transition is accepted. Gains are logarithms.
struct AcceptanceThreshold {
  double from = std::numeric_limits<double>::infinity();  // predicted margin; infinite = never
  double gain = 0;                                        // expected: the mean over the kernels from there on
  double low = 0;                                         // reached by all of them but a share (kUnchecked)
  int kernels = 0, programs = 0;                          // from there on
  int seen = 0;                                           // kernels in all

  double error() const { return gain - low; }  // above `gain` a choice is likely to be slower
  bool accepts(double margin) const { return margin >= from && gain > 0 && gain > error(); }
  bool accepts_any() const { return accepts(from); }

  static constexpr int kKernels = 16, kPrograms = 5;  // that a threshold needs, at least
};
// The share of choices that may be below `low`: of choices that nothing checks, and of those that a duel of the program follows
// (optimize/optimize.h), where a wrong one costs time alone.
inline constexpr double kUnchecked = 0.1, kBeforeDuel = 0.2;
// The least margin from which, and from every larger one, choices gain in the mean, and by more than the error.
AcceptanceThreshold acceptance_threshold(std::vector<RankedGain> kernels, double below = kUnchecked);
using Thresholds = std::map<std::string, AcceptanceThreshold>;  // by transition
Thresholds acceptance_thresholds(std::map<std::string, std::vector<RankedGain>> by_transition,
                                 double below = kUnchecked);

// The thresholds of all transitions, for one model.
struct Calibration {
  std::string model;    // weights_fingerprint() of the model
  std::string machine;  // class of machines that it holds for (features/machine_record.h); empty = any
  Thresholds by_transition;
  Thresholds elsewhere;       // of transitions that pay on another class in the file: of the most similar one
  double below = kUnchecked;  // that the thresholds were made with
  int kernels = 0, programs = 0;

  const AcceptanceThreshold& of(const std::string& transition) const;  // never accepts if it is unknown
  // Where it never accepts, that of another class which does, if there is one.
  const AcceptanceThreshold& of_any_class(const std::string& transition) const;
  // The accepted transition with the largest gain after subtracting its error; nothing when none is accepted.
  std::optional<std::string> choice(const std::map<std::string, PredictedMargin>& margins) const;

  // Of transitions of which these thresholds have seen less than they need, those of `others`, if they have seen more; and to `elsewhere`.
  void add_other_class(const Thresholds& others);

  nlohmann::json to_json() const;
  // From a file of one calibration, or of one for each of several classes of machines: that of `machine`, without any threshold where
  // the file has none of it. With `or_similar` that of the class which is most similar (features/machine_record.h), as `machine` then
  // says, and of transitions of which it has seen less than a threshold needs, that of the next one; `elsewhere` is then known. Throws
  // Error (where = path).
  static Calibration load(const std::string& path, const std::string& machine, bool or_similar = false);
};

// Ranks every kernel of these programs that takes 2 us or more and compares with its measurements. Throws Error when there are none.
Calibration measure_gains(const Dataset& dataset, const std::vector<std::string>& programs, cost::LearnedModel& model,
                          const std::string& weights_path);

// The effect that the choices would have had on a program's measured kernels.
struct JudgedProgram {
  int kernels = 0, changed = 0;
  double default_ns = 0, chosen_ns = 0;  // of all kernels, one run of each
  double worst = 1;                      // default over chosen run time of the changed kernel that lost most
};
// By program. Throws Error when no kernel can be evaluated.
std::map<std::string, JudgedProgram> judge_gains(const Dataset& dataset, const std::vector<std::string>& programs,
                                                 cost::LearnedModel& model, const Calibration& calibration);

// ---- rewrites of grouped convolutions and poolings into shifted slices (graph/decision_families.def)

// "grouped convolution", "gradient of weights" (of one) or "pooling".
std::string rewrite_transition(const Dimension& operation);
// There is no model for these: the margin is the logarithm of the number of elementwise operations.
double rewrite_margin(const Dimension& operation);

// The gain of the whole program from rewriting each of its grouped convolutions and poolings, with all others
// rewritten; by transition. Throws what the measurer throws; operations whose measurement fails are left out.
std::map<std::string, std::vector<RankedGain>> measure_rewrites(Measurer& measurer, const std::string& program);

// A digest of a weights file, or of all files that open_ensemble reads in a folder.
std::string weights_fingerprint(const std::string& path);

}  // namespace hone::tune
