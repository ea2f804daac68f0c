// Options of a tune of a whole program.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "search/strategies.h"
#include "tune/kernel/kernel_tuner.h"
#include "tune/program/fusion_model.h"

namespace hone::cost {
class OperationRanker;
}

namespace hone::tune {

// How fusion is searched. Without a model: annealing over the edges of XLA's own fusion, by measurement. With a model:
// annealing on predictions first; its best results are measured, and annealing by measurement continues from there.
struct FusionPlan {
  FusionModel* model = nullptr;
  std::vector<FusionLane> lanes;  // workers of the model's search
  double budget_s = 0;            // of the model's search; 0 = a share of the time left
  int chains = 4;
  bool random_start = false;  // from a random configuration instead of XLA's own
  bool only = false;          // decide nothing but fusion
};

// A proposal of decisions that come before all others (outer_search.h).
struct Alternative {
  std::string what;  // "12 passes first", "3 layouts"
  Decisions decisions;
};

// Functions that propose orders of passes and layouts; both may be empty.
struct OuterPlan {
  std::function<std::vector<Alternative>()> passes;                         // of the untouched program
  std::function<std::vector<Alternative>(const Decisions& under)> layouts;  // of the program under these decisions
  int contenders = 2;  // proposals close to the best that are tried again after the inner search
};

struct TuneOptions {
  double budget_s = 60;  // of the search, the confirmation included
  uint64_t seed = 0;
  std::string strategy;           // searches the program's dimensions; empty = group moves, then coordinate descent
  bool fusion = true;             // search over fusion edges when time remains
  std::set<DecisionKind> decide;  // kinds that are decided; empty = all
  OuterPlan outer;
  FusionPlan fusion_plan;
  bool in_place = true;       // time kernels in the program, where the measurer can
  bool operations = true;     // rewrite operations that are measured by themselves
  bool packing = true;        // have YNNPACK pack weights once
  bool kernels_only = false;  // tune the kernels of default XLA and nothing else
  double min_gain = 1.01;     // of a kept step; the lower bound must also be above 1
  KernelOptions kernel;
  cost::OperationRanker* operation_ranker = nullptr;  // of those; null = their forms come in the order of the list
  int processes = 3;                                  // fresh processes for the final duels
  Duel confirm{.min_rounds = 15,
               .max_rounds = 200,
               .budget_ms = 3000,
               .precision = 0.005,
               .abandon_ratio = 0,
               .limit_s = 300};  // in each of them
  // What is being tried ("kernels 3/12") and the gain over default XLA so far.
  std::function<void(const std::string& what, double gain)> on_progress = [](const std::string&, double) {};

  bool decides(DecisionKind kind) const { return decide.empty() || decide.contains(kind); }

  void validate() const {  // throws Error
    if (processes < 1) throw Error("the confirmation needs at least one process");
    if (!(budget_s > 0)) throw Error("the budget must be longer than nothing", "--budget", "for example 60s");
    if (min_gain < 1) throw Error("the least gain of a step must be at least 1");
    if (!strategy.empty()) make_strategy(strategy);
    kernel.validate();
  }
};

}  // namespace hone::tune
