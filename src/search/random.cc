#include <algorithm>

#include "search/evaluator.h"
#include "search/strategies.h"

namespace hone {
namespace {

class Random : public Strategy {
 public:
  std::string name() const override { return "random"; }

  SearchReport search(const Space& space, const Choice& start, CostModel& cost, const SearchOptions& options) override {
    Evaluator evaluator(space, start, cost, options);
    Rng rng(options.seed);
    evaluator.cost(start);
    std::vector<Choice> batch;
    while (!evaluator.done()) {
      batch.clear();
      // The evaluator evaluates duplicates within a batch once.
      for (int i = 0; i < std::max(1, options.batch_size); ++i) batch.push_back(*evaluator.unseen(rng));
      evaluator.costs(batch);
    }
    return evaluator.report();
  }
};

}  // namespace

std::unique_ptr<Strategy> make_random() { return std::make_unique<Random>(); }

}  // namespace hone
