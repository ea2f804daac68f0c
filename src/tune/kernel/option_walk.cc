#include "tune/kernel/option_walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "cost/kernel_ranker.h"
#include "tune/kernel/kernel_moves.h"

namespace hone::tune {

namespace {

constexpr int kUnproven = 3;  // options with unverifiable outputs, and no others, after which a search ends

}  // namespace

void KernelOptions::validate() const {
  if (exhaustive_limit < 1 || samples < 1 || finalists < 1 || max_tried < 1)
    throw Error("kernel tuning needs at least one option, sample and finalist");
  if (top_k < 0) throw Error("the number of options must not be negative", "--top-k");
  if (top_k > 0 && !ranker) throw Error("the best options of a kernel need a model to rank them", "--top-k");
  if (!(worth >= 0)) throw Error("the least expected gain must not be negative");
  belief.validate();
  ratio_belief.validate();
  form_belief.validate();
  if (min_gain < 1) throw Error("a kernel's least gain must be at least 1");
}

OptionWalk::OptionWalk(const Kernel& kernel, const KernelOptions& options,
                       const std::map<std::string, Measurement>& earlier)
    : dimension_(kernel.dimension),
      options_(options),
      measured_(kernel.dimension.options.size()),
      expanded_(kernel.dimension.options.size()) {
  if (options.ranker) rank(kernel);
  if (options.first) queue_ = options.first(kernel);
  std::reverse(queue_.begin(), queue_.end());
  for (size_t i = 0; i < dimension_.options.size(); ++i)
    if (const auto found = earlier.find(dimension_.options[i]); found != earlier.end())
      learn(static_cast<int>(i), found->second);
}

void OptionWalk::rank(const Kernel& kernel) {
  const std::optional<cost::RankedScores> ranked = cost::ranked_or_nothing(kernel, *options_.ranker);
  if (!ranked) return;
  ranked_ = cost::ranked_options(kernel, *ranked);
  if (!options_.by_expectation || ranked->spreads.empty() || ranked->run_times) return;
  belief_.emplace(forms() ? unrelated_points(dimension_.options.size()) : option_points(dimension_.options),
                  ranked->scores, ranked->spreads, dimension_.default_option,
                  !ranked->log_ratios ? options_.belief
                  : forms()           ? options_.form_belief
                                      : options_.ratio_belief);
}

bool OptionWalk::unproven() const { return unproven_ >= kUnproven && unproven_ == tried_; }

void OptionWalk::tell(int i, const Measurement& measurement) {
  ++tried_;
  unproven_ += measurement.outcome == Outcome::Unverified;
  learn(i, measurement);
}

void OptionWalk::learn(int i, const Measurement& measurement) {
  measured_[i] = measurement;
  if (!belief_ || i == dimension_.default_option) return;
  if (measurement.ok() && measurement.ratio > 0)
    belief_->observe(i, -std::log(measurement.ratio));
  else
    belief_->rule_out(i);
}

std::optional<int> OptionWalk::next(Rng& rng) {
  if (unproven() || (options_.top_k > 0 && tried_ >= options_.top_k)) return std::nullopt;
  if (!any_open()) return std::nullopt;
  if (options_.patience > 0 && tried_ >= options_.patience && !any_faster()) return std::nullopt;
  if (const std::optional<int> i = from_queue()) return i;
  if (belief_) {
    if (const std::optional<int> i = from_belief()) return i;
  } else if (!std::exchange(sampled_, true)) {
    sample(rng);
    if (const std::optional<int> i = from_queue()) return i;
  }
  const bool covers = !belief_ && static_cast<int>(measured_.size()) <= options_.exhaustive_limit;
  if (covers || options_.top_k > 0 || forms()) return std::nullopt;
  while (tried_ < options_.max_tried && expand(belief_ ? 1 : options_.finalists))
    if (const std::optional<int> i = from_queue()) return i;
  return std::nullopt;
}

bool OptionWalk::any_open() const {
  for (int i = 0; i < static_cast<int>(measured_.size()); ++i)
    if (open(i)) return true;
  return false;
}

bool OptionWalk::any_faster() const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [](const std::optional<Measurement>& m) { return m && m->ok() && m->ratio > 1; });
}

std::optional<int> OptionWalk::from_queue() {
  while (!queue_.empty()) {
    const int i = queue_.back();
    queue_.pop_back();
    if (open(i)) return i;
  }
  return std::nullopt;
}

std::optional<int> OptionWalk::from_belief() {
  if (tried_ >= (options_.top_k > 0 ? options_.top_k : options_.max_tried)) return std::nullopt;
  return belief_->next(options_.worth);
}

// The best ranked; else all options of a small space; else other emitters first, then the best ranked or a sample of tiles.
// A sample as large as the space holds every option, in the same order of importance as for large spaces.
void OptionWalk::sample(Rng& rng) {
  const bool small = static_cast<int>(measured_.size()) <= options_.exhaustive_limit;
  const size_t best =
      std::min(ranked_.size(), static_cast<size_t>(options_.top_k > 0 ? options_.top_k : options_.samples));
  if (options_.top_k == 0)
    queue_ = first_options(dimension_,
                           small             ? 2 * options_.exhaustive_limit
                           : ranked_.empty() ? options_.samples
                                             : 0,
                           rng);
  if (options_.top_k > 0 || !small) queue_.insert(queue_.end(), ranked_.begin(), ranked_.begin() + best);
  std::reverse(queue_.begin(), queue_.end());
}

// Queues the neighbours of one of the best `among` options. False when those of all were queued.
bool OptionWalk::expand(int among) {
  const std::optional<int> from = best_unexpanded(among);
  if (!from) return false;
  expanded_[*from] = true;
  queue_ = neighbours(dimension_, *from);
  std::reverse(queue_.begin(), queue_.end());
  return true;
}

// The best measured option whose neighbours were not tried, if it is among the best `among` of all.
std::optional<int> OptionWalk::best_unexpanded(int among) const {
  const std::vector<int> order = ranking();
  for (size_t place = 0; place < order.size() && place < static_cast<size_t>(among); ++place)
    if (!expanded_[order[place]]) return order[place];
  return std::nullopt;
}

std::vector<int> OptionWalk::ranking() const {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(measured_.size()); ++i)
    if (i != dimension_.default_option && measured_[i] && measured_[i]->ok()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return measured_[a]->ratio > measured_[b]->ratio; });
  return order;
}

std::vector<Tried> OptionWalk::all_measured() const {
  std::vector<Tried> all;
  for (size_t i = 0; i < measured_.size(); ++i)
    if (measured_[i]) all.push_back({dimension_.options[i], *measured_[i]});
  return all;
}

}  // namespace hone::tune
