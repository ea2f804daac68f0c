#include "search/evaluator.h"
#include "search/strategies.h"

namespace hone {
namespace {

class Exhaustive : public Strategy {
 public:
  std::string name() const override { return "exhaustive"; }

  SearchReport search(const Space& space, const Choice& start, CostModel& cost, const SearchOptions& options) override {
    Evaluator evaluator(space, start, cost, options);
    evaluator.cost(start);
    constexpr size_t kPage = 1024;  // choices in memory at once
    std::vector<Choice> page;
    Choice choice(space.dimensions.size(), 0);
    bool more = true;
    while (more && !evaluator.done()) {
      page.clear();
      for (; more && page.size() < kPage; more = next_choice(space, choice)) page.push_back(choice);
      evaluator.costs(page);
    }
    return evaluator.report();
  }
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive() { return std::make_unique<Exhaustive>(); }

}  // namespace hone
