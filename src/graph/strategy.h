// Interfaces between spaces, costs and searches. Searches depend on neither XLA nor torch.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "graph/decision.h"

namespace hone {

inline constexpr double kFailed = std::numeric_limits<double>::infinity();

// Maps choices of one space (fixed at construction, with its program or kernel) to cost, in batches. Costs are run
// times in ns, or ratios to the default if the implementation says so; kFailed if a choice does not compile, is
// wrong, or takes too long. Implementations: analytical, measured, learned.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual std::vector<double> costs(std::span<const Choice> choices) = 0;
};

struct SearchOptions {
  uint64_t seed = 0;
  int max_evaluations = 1000;
  int batch_size = 1;  // most choices per CostModel::costs call: 1 suits measuring, hundreds suit a learned cost
  // Called before every batch: true ends the search with the best so far (time budget, Ctrl-C).
  std::function<bool()> should_stop = [] { return false; };
  // Called for every evaluated choice, in order.
  std::function<void(const Choice&, double cost)> on_evaluated = [](const Choice&, double) {};
};

struct SearchReport {
  Choice best;
  double best_cost = kFailed;
  int evaluations = 0;    // distinct choices evaluated
  bool complete = false;  // the whole space was covered
};

// A search evaluates no choice twice, always evaluates the start, and returns the best choice it evaluated.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string name() const = 0;
  virtual SearchReport search(const Space& space, const Choice& start, CostModel& cost,
                              const SearchOptions& options) = 0;
};

}  // namespace hone
