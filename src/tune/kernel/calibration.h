// What a model's preference is worth: how much faster the options it liked really were, on kernels it had not seen, and
// how often that went wrong. A choice without measuring rests on this and on nothing else.
//
// A model's scores order the options of one kernel; the lead of an option is how far it stands before the default. Leads
// are trusted by the way of change, since ways differ more than kernels do: giving up XLA's tiles for loops may pay where
// another unrolling of the same loop is noise.
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
std::string way_of_change(const std::string& kernel_kind, bool default_tiled, bool option_tiled);

// The best ranked option of each way, by its index, with its lead: score of the default less that of the option, of run
// times the difference of logarithms; below 0 where the model prefers the default. `tiled` says of each option whether the
// tiled emitter makes it. Throws InternalError for sizes that do not fit.
struct Lead {
  int option = -1;
  double lead = 0;
};
std::map<std::string, Lead> leads_of(const std::string& kernel_kind, const std::vector<double>& scores,
                                     const std::vector<bool>& tiled, int default_option, bool scores_are_ns);

// One kernel that was ranked and measured, in one way.
struct RankedGain {
  std::string program;
  double lead = 0;
  double gain = 0;  // log of the default's run time over that of the best ranked option, measured
};

// From which lead on a way of change pays. Gains are logarithms.
struct Trust {
  double from = std::numeric_limits<double>::infinity();  // of leads; infinite = never
  double gain = 0;                                        // mean of the kernels from there on: what can be expected
  double low = 0;                                         // what nine in ten of them reached
  int kernels = 0, programs = 0;                          // from there on
  int seen = 0;                                           // kernels in all

  double error() const { return gain - low; }  // above `gain` a choice may well make things slower
  bool trusts(double lead) const { return lead >= from && gain > error(); }

  static constexpr int kKernels = 8, kPrograms = 4;  // that a threshold rests on, at least
  static constexpr double kQuantile = 0.1;
};
// The least lead such that the expected gain is larger than the error among all kernels from any larger lead on.
Trust trust_of(std::vector<RankedGain> kernels);

// All ways, for one model.
struct KnownGains {
  std::string model;  // weights_fingerprint() of the model they are about
  std::map<std::string, Trust> by_way;
  int kernels = 0, programs = 0;

  const Trust& of(const std::string& way) const;  // one that never trusts for a way that is not known
  // Of the ways that are trusted with their leads the one that surely gains most; nothing when none is.
  std::optional<std::string> choice(const std::map<std::string, Lead>& leads) const;

  nlohmann::json to_json() const;
  static KnownGains load(const std::string& path);  // throws Error (where = path)
};

// Ranks every kernel of these programs and compares with what was measured. Throws Error when there is none.
KnownGains measure_gains(const Dataset& dataset, const std::vector<std::string>& programs, cost::LearnedModel& model,
                         const std::string& weights_path);

// What choices would have done to a program's measured kernels.
struct JudgedProgram {
  int kernels = 0, changed = 0;
  double default_ns = 0, chosen_ns = 0;  // of all kernels, one run of each
  double worst = 1;                      // default over chosen run time of the changed kernel that lost most
};
// By program. Throws Error when no kernel can be judged.
std::map<std::string, JudgedProgram> judge_gains(const Dataset& dataset, const std::vector<std::string>& programs,
                                                 cost::LearnedModel& model, const KnownGains& gains);

// ---- operations over windows (graph/decision_family.h)

// The way of change of such an operation to shifted slices: "grouped convolution", "gradient of weights" (of one) or "pooling".
// Nothing ranks these: their lead is the logarithm of the elementwise operations.
std::string window_way(const Dimension& operation);
double window_lead(const Dimension& operation);

// What each of a program's operations over windows gains the whole program by shifted slices, all others being so already; by
// way of change. Throws what the bench throws; operations whose measurement fails are left out.
std::map<std::string, std::vector<RankedGain>> measure_windows(Bench& bench, const std::string& program);

// A digest of a weights file, or of all that open_ensemble reads in a folder.
std::string weights_fingerprint(const std::string& path);

}  // namespace hone::tune
