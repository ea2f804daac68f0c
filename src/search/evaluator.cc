#include "search/evaluator.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include "base/error.h"

namespace hone {

Evaluator::Evaluator(const Space& space, const Choice& start, CostModel& model, const SearchOptions& options)
    : space_(space), model_(model), options_(options), space_size_(space.size()) {
  if (!space.is_legal(start)) throw InternalError("the search was started at a choice that is not legal");
  for (size_t d = 0; d < space.dimensions.size(); ++d)
    if (space.dimensions[d].options.size() > 1) movable_.push_back(d);
  report_.best = start;
}

bool Evaluator::done() const {
  return stopped_ || report_.evaluations >= options_.max_evaluations || report_.evaluations >= space_size_;
}

double Evaluator::progress() const {
  const double limit = std::min<double>(options_.max_evaluations, space_size_);
  return limit > 0 ? std::min(1.0, report_.evaluations / limit) : 1.0;
}

std::vector<double> Evaluator::costs(std::span<const Choice> choices) {
  std::vector<Choice> batch;
  std::unordered_set<Choice, ChoiceHash> queued;
  const auto left = [&] { return static_cast<size_t>(std::max(0, options_.max_evaluations - report_.evaluations)); };
  const size_t batch_size = static_cast<size_t>(std::max(1, options_.batch_size));
  const auto flush = [&] {
    if (batch.size() > left()) batch.resize(left());
    if (!batch.empty() && !stopped_) ask(batch);
    batch.clear();
    queued.clear();
  };
  for (const Choice& choice : choices) {
    if (knows(choice) || queued.contains(choice)) continue;
    if (!space_.is_legal(choice)) throw InternalError("a strategy proposed a choice that is not legal");
    queued.insert(choice);
    batch.push_back(choice);
    if (batch.size() >= batch_size) flush();
    if (done()) break;
  }
  flush();
  std::vector<double> result;
  result.reserve(choices.size());
  for (const Choice& choice : choices) {
    const auto found = known_.find(choice);
    result.push_back(found == known_.end() ? kFailed : found->second);
  }
  return result;
}

void Evaluator::ask(std::span<const Choice> batch) {
  if (options_.should_stop()) {
    stopped_ = true;
    return;
  }
  const std::vector<double> answers = model_.costs(batch);
  if (answers.size() != batch.size())
    throw InternalError("the cost model answered " + std::to_string(batch.size()) + " choices with " +
                        std::to_string(answers.size()) + " costs");
  for (size_t i = 0; i < batch.size(); ++i) {
    const double cost = std::isnan(answers[i]) ? kFailed : answers[i];
    known_.emplace(batch[i], cost);
    ++report_.evaluations;
    if (cost < report_.best_cost) {
      report_.best_cost = cost;
      report_.best = batch[i];
    }
    options_.on_evaluated(batch[i], cost);
  }
  report_.complete = report_.evaluations >= space_size_;
}

Choice Evaluator::random(Rng& rng) const {
  Choice choice(space_.dimensions.size(), 0);
  for (size_t d : movable_)
    choice[d] = static_cast<int32_t>(rng.below(static_cast<int64_t>(space_.dimensions[d].options.size())));
  return choice;
}

std::optional<Choice> Evaluator::unseen(Rng& rng) const {
  if (done()) return std::nullopt;
  for (int attempt = 0; attempt < 64; ++attempt) {
    Choice choice = random(rng);
    if (!knows(choice)) return choice;
  }
  // Most choices are known: advance from a random one. Terminates, since fewer choices are known than exist.
  Choice choice = random(rng);
  while (knows(choice)) next_choice(space_, choice);
  return choice;
}

std::vector<size_t> Evaluator::by_weight() const {
  std::vector<size_t> order = movable_;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return space_.dimensions[a].weight > space_.dimensions[b].weight; });
  return order;
}

size_t Evaluator::ChoiceHash::operator()(const Choice& choice) const {
  uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a over the option indices
  for (int32_t pick : choice) hash = (hash ^ static_cast<uint32_t>(pick)) * 0x100000001b3ull;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

bool next_choice(const Space& space, Choice& choice) {
  for (size_t d = choice.size(); d-- > 0;) {
    if (++choice[d] < static_cast<int32_t>(space.dimensions[d].options.size())) return true;
    choice[d] = 0;
  }
  return false;
}

void redraw(const Space& space, size_t d, Rng& rng, Choice& choice) {
  const int64_t others = static_cast<int64_t>(space.dimensions[d].options.size()) - 1;
  const auto pick = static_cast<int32_t>(rng.below(others));
  choice[d] = pick + (pick >= choice[d] ? 1 : 0);
}

}  // namespace hone
