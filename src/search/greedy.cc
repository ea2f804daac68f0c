#include <algorithm>

#include "search/evaluator.h"
#include "search/strategies.h"

namespace hone {
namespace {

class Greedy : public Strategy {
 public:
  std::string name() const override { return "greedy"; }

  SearchReport search(const Space& space, const Choice& start, CostModel& cost, const SearchOptions& options) override {
    Evaluator evaluator(space, start, cost, options);
    Choice current = start;
    double current_cost = evaluator.cost(start);
    const std::vector<size_t> order = evaluator.by_weight();
    bool gained = true;
    while (gained && !evaluator.done()) {
      gained = false;
      for (size_t d : order) {
        std::vector<Choice> line(space.dimensions[d].options.size(), current);
        for (size_t i = 0; i < line.size(); ++i) line[i][d] = static_cast<int32_t>(i);
        const std::vector<double> costs = evaluator.costs(line);
        const size_t best = std::min_element(costs.begin(), costs.end()) - costs.begin();
        if (costs[best] < current_cost) {
          current = line[best];
          current_cost = costs[best];
          gained = true;
        }
      }
    }
    return evaluator.report();
  }
};

}  // namespace

std::unique_ptr<Strategy> make_greedy() { return std::make_unique<Greedy>(); }

}  // namespace hone
