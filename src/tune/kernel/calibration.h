// Calibration of a model's ranking: how much faster the options it preferred really were, on kernels it had not seen, and
// how often that went wrong. A choice without measuring rests on this and on nothing else.
//
// A model's scores order the options of one kernel; the predicted margin of an option is how far it stands before the
// default. Each transition between code generators has a threshold of its own, since transitions differ more than kernels
// do: to replace XLA's tiles by loops may pay where another unrolling of the same loop is noise.
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

// The best ranked option of each transition, by its index, with its margin: score of the default less that of the option;
// of run times the difference of logarithms. Below 0 where the model prefers the default. `tiled` says of each option
// whether the tiled emitter makes it. Throws InternalError for sizes that do not fit.
struct PredictedMargin {
  int option = -1;
  double margin = 0;
};
std::map<std::string, PredictedMargin> predicted_margins(const std::string& kernel_kind,
                                                         const std::vector<double>& scores,
                                                         const std::vector<bool>& tiled, int default_option,
                                                         bool scores_are_ns);

// The best ranked option of one transition of one kernel, and what measuring it gave.
struct RankedGain {
  std::string program;
  double margin = 0;
  double gain = 0;  // log of the default's run time over that of the best ranked option, measured
};

// The predicted margin from which on a transition pays. Gains are logarithms.
struct AcceptanceThreshold {
  double from = std::numeric_limits<double>::infinity();  // predicted margin; infinite = never
  double gain = 0;                                        // mean of the kernels from there on: what can be expected
  double low = 0;                                         // what nine in ten of them reached
  int kernels = 0, programs = 0;                          // from there on
  int seen = 0;                                           // kernels in all

  double error() const { return gain - low; }  // above `gain` a choice may well make things slower
  bool accepts(double margin) const { return margin >= from && gain > error(); }

  static constexpr int kKernels = 8, kPrograms = 4;  // that a threshold rests on, at least
  static constexpr double kQuantile = 0.1;
};
// The least margin such that the expected gain is larger than the error among all kernels from any larger margin on.
AcceptanceThreshold acceptance_threshold(std::vector<RankedGain> kernels);

// The thresholds of all transitions, for one model.
struct Calibration {
  std::string model;  // weights_fingerprint() of the model they are about
  std::map<std::string, AcceptanceThreshold> by_transition;
  int kernels = 0, programs = 0;

  const AcceptanceThreshold& of(const std::string& transition) const;  // one that never accepts where nothing is known
  // Of the transitions whose margins are accepted the one that surely gains most; nothing when none is.
  std::optional<std::string> choice(const std::map<std::string, PredictedMargin>& margins) const;

  nlohmann::json to_json() const;
  static Calibration load(const std::string& path);  // throws Error (where = path)
};

// Ranks every kernel of these programs and compares with what was measured. Throws Error when there is none.
Calibration measure_gains(const Dataset& dataset, const std::vector<std::string>& programs, cost::LearnedModel& model,
                          const std::string& weights_path);

// What choices would have done to a program's measured kernels.
struct JudgedProgram {
  int kernels = 0, changed = 0;
  double default_ns = 0, chosen_ns = 0;  // of all kernels, one run of each
  double worst = 1;                      // default over chosen run time of the changed kernel that lost most
};
// By program. Throws Error when no kernel can be judged.
std::map<std::string, JudgedProgram> judge_gains(const Dataset& dataset, const std::vector<std::string>& programs,
                                                 cost::LearnedModel& model, const Calibration& calibration);

// ---- rewrites of grouped convolutions and poolings into shifted slices (graph/decision_families.def)

// "grouped convolution", "gradient of weights" (of one) or "pooling".
std::string rewrite_transition(const Dimension& operation);
// No model ranks these: the margin is the logarithm of the number of elementwise operations.
double rewrite_margin(const Dimension& operation);

// What the rewrite of each of a program's grouped convolutions and poolings gains the whole program, all others being
// rewritten already; by transition. Throws what the measurer throws; operations whose measurement fails are left out.
std::map<std::string, std::vector<RankedGain>> measure_rewrites(Measurer& measurer, const std::string& program);

// A digest of a weights file, or of all that open_ensemble reads in a folder.
std::string weights_fingerprint(const std::string& path);

}  // namespace hone::tune
