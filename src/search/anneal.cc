#include <cmath>

#include "base/error.h"
#include "search/annealing.h"
#include "search/evaluator.h"
#include "search/strategies.h"

namespace hone {
namespace {

class Anneal : public Strategy {
 public:
  explicit Anneal(const AnnealOptions& options) : options_(options) { options_.validate(); }
  std::string name() const override { return options_.geometric ? "anneal" : "anneal-linear"; }

  SearchReport search(const Space& space, const Choice& start, CostModel& cost, const SearchOptions& options) override {
    Evaluator evaluator(space, start, cost, options);
    Rng rng(options.seed);
    Choice current = start;
    double current_cost = evaluator.cost(start);
    int idle = 0;  // consecutive moves to known choices
    while (!evaluator.done()) {
      if (idle >= options_.patience) {
        current = *evaluator.unseen(rng);
        current_cost = evaluator.cost(current);
        idle = 0;
        continue;
      }
      const double temperature = temperature_at(evaluator.progress());
      const Choice proposal = neighbour(space, evaluator.movable(), current, rng);
      idle = evaluator.knows(proposal) ? idle + 1 : 0;
      const double proposal_cost = evaluator.cost(proposal);
      if (metropolis_accepts(current_cost, proposal_cost, temperature, rng)) {
        current = proposal;
        current_cost = proposal_cost;
      }
    }
    return evaluator.report();
  }

 private:
  double temperature_at(double progress) const {
    const double hot = options_.start_temperature, cold = options_.end_temperature;
    return options_.geometric ? hot * std::pow(cold / hot, progress) : hot + (cold - hot) * progress;
  }

  // Two dimensions change in half of the moves: pairs of decisions often gain only together.
  static Choice neighbour(const Space& space, const std::vector<size_t>& movable, Choice choice, Rng& rng) {
    const auto count = static_cast<int64_t>(movable.size());
    const int64_t first = rng.below(count);
    redraw(space, movable[first], rng, choice);
    if (count > 1 && rng.below(2) == 1) {
      const int64_t second = (first + 1 + rng.below(count - 1)) % count;
      redraw(space, movable[second], rng, choice);
    }
    return choice;
  }

  AnnealOptions options_;
};

}  // namespace

void AnnealOptions::validate() const {
  if (!(end_temperature > 0 && start_temperature >= end_temperature))
    throw Error("annealing needs start_temperature >= end_temperature > 0", "anneal");
  if (patience < 1) throw Error("annealing needs a patience of at least 1", "anneal");
}

std::unique_ptr<Strategy> make_anneal(const AnnealOptions& options) { return std::make_unique<Anneal>(options); }

}  // namespace hone
