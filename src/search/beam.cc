#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "search/evaluator.h"
#include "search/strategies.h"

namespace hone {
namespace {

class Beam : public Strategy {
 public:
  explicit Beam(const BeamOptions& options) : options_(options) { options_.validate(); }
  std::string name() const override { return "beam"; }

  SearchReport search(const Space& space, const Choice& start, CostModel& cost, const SearchOptions& options) override {
    Evaluator evaluator(space, start, cost, options);
    evaluator.cost(start);
    std::vector<Choice> beam = {start};
    const std::vector<size_t> order = evaluator.by_weight();
    bool changed = true;
    while (changed && !evaluator.done()) {
      const std::vector<Choice> before = beam;
      for (size_t d : order) beam = advance(space, d, beam, evaluator);
      changed = beam != before;
    }
    return evaluator.report();
  }

 private:
  // The best `width` of the beam's choices with any option of dimension d; ties by the choice itself, so that rounds
  // without a gain end in the same beam. A round never loses its best choice, so the search terminates.
  std::vector<Choice> advance(const Space& space, size_t d, const std::vector<Choice>& beam, Evaluator& evaluator) {
    std::set<Choice> distinct;
    for (Choice choice : beam) {
      for (size_t i = 0; i < space.dimensions[d].options.size(); ++i) {
        choice[d] = static_cast<int32_t>(i);
        distinct.insert(choice);
      }
    }
    const std::vector<Choice> candidates(distinct.begin(), distinct.end());
    const std::vector<double> costs = evaluator.costs(candidates);
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t i = 0; i < costs.size(); ++i) ranked.emplace_back(costs[i], i);
    std::sort(ranked.begin(), ranked.end());
    std::vector<Choice> kept;
    for (size_t i = 0; i < ranked.size() && static_cast<int>(kept.size()) < options_.width; ++i)
      kept.push_back(candidates[ranked[i].second]);
    return kept;
  }

  BeamOptions options_;
};

}  // namespace

void BeamOptions::validate() const {
  if (width < 1) throw Error("the beam needs a width of at least 1", "beam");
}

std::unique_ptr<Strategy> make_beam(const BeamOptions& options) { return std::make_unique<Beam>(options); }

}  // namespace hone
