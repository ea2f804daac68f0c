#include <algorithm>

#include "base/error.h"
#include "search/evaluator.h"
#include "search/strategies.h"

namespace hone {
namespace {

struct Individual {
  Choice genes;
  double cost = kFailed;
};
using Population = std::vector<Individual>;

class Genetic : public Strategy {
 public:
  explicit Genetic(const GeneticOptions& options) : options_(options) { options_.validate(); }
  std::string name() const override { return "genetic"; }

  SearchReport search(const Space& space, const Choice& start, CostModel& cost, const SearchOptions& options) override {
    Evaluator evaluator(space, start, cost, options);
    Rng rng(options.seed);
    evaluator.cost(start);
    Population population = evaluate(evaluator, first_generation(space, start, evaluator, rng));
    while (!evaluator.done()) population = next_generation(space, population, evaluator, rng);
    return evaluator.report();
  }

 private:
  // The start, mutants of it (default XLA is usually good) and as many uniform choices.
  std::vector<Choice> first_generation(const Space& space, const Choice& start, const Evaluator& evaluator, Rng& rng) {
    std::vector<Choice> genes = {start};
    while (static_cast<int>(genes.size()) < options_.population) {
      if (genes.size() % 2 == 0) {
        genes.push_back(evaluator.random(rng));
      } else {
        genes.push_back(start);
        mutate(space, evaluator.movable(), 2, genes.back(), rng);
      }
    }
    return genes;
  }

  Population next_generation(const Space& space, const Population& population, Evaluator& evaluator, Rng& rng) {
    std::vector<Choice> genes;
    for (int i = 0; i < options_.elites; ++i) genes.push_back(population[i].genes);
    while (static_cast<int>(genes.size()) < options_.population) {
      Choice child = select(population, rng).genes;
      const Choice& other = select(population, rng).genes;
      for (size_t d = 0; d < child.size(); ++d)
        if (rng.below(2) == 1) child[d] = other[d];
      mutate(space, evaluator.movable(), options_.mutations, child, rng);
      // A known child is replaced by an unseen choice, which also keeps a converged population diverse.
      if (evaluator.knows(child)) child = evaluator.unseen(rng).value_or(child);
      genes.push_back(std::move(child));
    }
    return evaluate(evaluator, genes);
  }

  static Population evaluate(Evaluator& evaluator, const std::vector<Choice>& genes) {
    const std::vector<double> costs = evaluator.costs(genes);
    Population population;
    for (size_t i = 0; i < genes.size(); ++i) population.push_back({genes[i], costs[i]});
    std::stable_sort(population.begin(), population.end(),
                     [](const Individual& a, const Individual& b) { return a.cost < b.cost; });
    return population;
  }

  const Individual& select(const Population& population, Rng& rng) const {
    const Individual* best = nullptr;
    for (int i = 0; i < options_.tournament; ++i) {
      const Individual& rival = population[rng.below(static_cast<int64_t>(population.size()))];
      if (best == nullptr || rival.cost < best->cost) best = &rival;
    }
    return *best;
  }

  static void mutate(const Space& space, const std::vector<size_t>& movable, double expected, Choice& choice,
                     Rng& rng) {
    for (size_t d : movable)
      if (rng.uniform() * static_cast<double>(movable.size()) < expected) redraw(space, d, rng, choice);
  }

  GeneticOptions options_;
};

}  // namespace

void GeneticOptions::validate() const {
  if (population < 2) throw Error("the genetic search needs a population of at least 2", "genetic");
  if (elites < 0 || elites >= population) throw Error("elites must be fewer than the population", "genetic");
  if (tournament < 1) throw Error("a tournament needs at least 1 candidate", "genetic");
  if (!(mutations >= 0)) throw Error("the number of mutations cannot be negative", "genetic");
}

std::unique_ptr<Strategy> make_genetic(const GeneticOptions& options) { return std::make_unique<Genetic>(options); }

}  // namespace hone
