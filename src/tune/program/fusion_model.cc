#include "tune/program/fusion_model.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "cost/ensemble.h"
#include "cost/kernel_ranker.h"
#include "cost/run_time_model.h"
#include "cost/shipped.h"
#include "search/strategies.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

// Scores shared by all chains: configurations by their text, distinct programs by their fingerprint.
class Scores {
 public:
  Scores(const Decisions& base, FusionModel& model, const FusionSearchOptions& options)
      : base_(base), model_(model), options_(options) {}

  // Predicted ns of the program; kFailed when it cannot be lowered or encoded. Lets Stopped and
  // InternalError pass.
  double of(const FusionLane& lane, const Decisions& fusion) {
    const std::string text = to_text(fusion);
    {
      const std::lock_guard lock(mutex_);
      const auto known = by_text_.find(text);
      if (known != by_text_.end()) return known->second;
    }
    double ns = kFailed;
    std::string fingerprint;
    try {
      const Lowered lowered = lane.lower(merged(base_, fusion));
      fingerprint = lowered.fingerprint;
      ns = model_.program_ns(lowered);
    } catch (const Error& failed) {
      spdlog::debug("fusion {}: {}", text, failed.what());
    }
    return note(text, fingerprint, fusion, ns);
  }

  int64_t configurations() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(by_text_.size());
  }

  void set_start(double ns) { start_ns_ = best_ns_ = ns; }

  void fill(FusionSearchReport& report) const {
    report.configurations = static_cast<int64_t>(by_text_.size());
    report.programs = static_cast<int64_t>(by_program_.size());
    report.failed = failed_;
    for (const auto& [fingerprint, candidate] : by_program_)
      if (candidate.predicted_ns < report.start_ns) report.best.push_back(candidate);
    std::stable_sort(report.best.begin(), report.best.end(),
                     [](const auto& a, const auto& b) { return a.predicted_ns < b.predicted_ns; });
    if (report.best.size() > static_cast<size_t>(options_.finalists)) report.best.resize(options_.finalists);
    for (const FusionCandidate& other : diverse_)
      if (other.predicted_ns < report.start_ns * (1 + kModelError) && !is_known(report, other.predicted_ns))
        report.from_diverse_starts.push_back(other);
    std::stable_sort(report.from_diverse_starts.begin(), report.from_diverse_starts.end(),
                     [](const auto& a, const auto& b) { return a.predicted_ns < b.predicted_ns; });
  }

  void found_from_diverse_start(FusionCandidate candidate) {
    const std::lock_guard lock(mutex_);
    diverse_.push_back(std::move(candidate));
  }

 private:
  // The start or one of the finalists: a chain may reach the start of another chain.
  static bool is_known(const FusionSearchReport& report, double predicted_ns) {
    const auto same = [&](const FusionCandidate& c) { return c.predicted_ns == predicted_ns; };
    return predicted_ns == report.start_ns || std::any_of(report.best.begin(), report.best.end(), same) ||
           std::any_of(report.from_diverse_starts.begin(), report.from_diverse_starts.end(), same);
  }

  double note(const std::string& text, const std::string& fingerprint, const Decisions& fusion, double ns) {
    const std::lock_guard lock(mutex_);
    if (!by_text_.emplace(text, ns).second) return ns;  // another lane was faster
    if (ns < kFailed) {
      // Of the decision lists that lead to one program, the shortest is kept.
      FusionCandidate& known = by_program_[fingerprint];
      if (known.predicted_ns == 0 || fusion.size() < known.decisions.size()) known = {fusion, ns};
      best_ns_ = std::min(best_ns_, ns);
    } else {
      ++failed_;
    }
    const bool known_start = start_ns_ > 0 && start_ns_ < kFailed;
    options_.on_scored(static_cast<int64_t>(by_text_.size()), known_start ? start_ns_ / best_ns_ : 1);
    return ns;
  }

  const Decisions& base_;
  FusionModel& model_;
  const FusionSearchOptions& options_;
  mutable std::mutex mutex_;
  std::map<std::string, double> by_text_;
  std::map<std::string, FusionCandidate> by_program_;
  std::vector<FusionCandidate> diverse_;  // the best of each chain with another start
  int64_t failed_ = 0;
  double start_ns_ = 0, best_ns_ = kFailed;
};

class PredictedCost : public CostModel {
 public:
  PredictedCost(const Space& space, const FusionLane& lane, Scores& scores)
      : space_(space), lane_(lane), scores_(scores) {}
  std::vector<double> costs(std::span<const Choice> choices) override {
    std::vector<double> costs;
    for (const Choice& choice : choices) {
      const Decisions decisions = space_.decisions(choice);
      costs.push_back(scores_.of(lane_, decisions));
      if (costs.back() < best_.predicted_ns) best_ = {decisions, costs.back()};
    }
    asked_ += static_cast<int64_t>(choices.size());
    return costs;
  }
  int64_t asked() const { return asked_; }
  void forget_best() { best_ = {{}, kFailed}; }
  const FusionCandidate& best() const { return best_; }  // since the last forget_best()

 private:
  const Space& space_;
  const FusionLane& lane_;
  Scores& scores_;
  int64_t asked_ = 0;
  FusionCandidate best_{{}, kFailed};
};

// The chains of one lane, one after the other, each with its share of the time and of the configurations. A chain that
// cools down early, because later configurations take less time than the first ones, restarts from its start.
void walk(const FusionLane& lane, size_t index, size_t lanes, const Space& space, Scores& scores, double seconds_each,
          const FusionSearchOptions& options) {
  const double start = steady_s();
  const auto chains = static_cast<double>(options.chains);
  const double allowed = static_cast<double>(options.max_configurations) / (chains * static_cast<double>(lanes));
  PredictedCost cost(space, lane, scores);
  for (int chain = 0; chain < options.chains; ++chain) {
    const double until_s = options.budget_s * (chain + 1) / chains;
    const int64_t at_first = cost.asked();
    SearchOptions search;
    const size_t number = index * options.chains + chain;
    const bool other = number % 2 == 1 && !options.diverse_starts.empty();
    const Decisions& begins =
        other ? options.diverse_starts[number / 2 % options.diverse_starts.size()] : options.start;
    cost.forget_best();
    search.seed = options.seed + 1000003 * number;
    search.should_stop = [&] { return seconds_since(start) >= until_s || lane.seconds_left() <= 0; };
    for (bool more = true; more; search.seed += 7919) {
      const int64_t before = cost.asked(), known = scores.configurations();
      const double begin = steady_s();
      // The temperature falls with the number of configurations, scaled to how many fit into the chain's time.
      const double fitting = (until_s - seconds_since(start)) / seconds_each;
      const double left = std::min(fitting, allowed - static_cast<double>(before - at_first));
      search.max_evaluations = static_cast<int>(std::clamp(left, 2.0, 1e6));
      make_anneal({.start_temperature = options.temperature, .end_temperature = options.temperature / 20})
          ->search(space, space.choice(begins), cost, search);
      const auto asked = static_cast<double>(cost.asked() - before);
      if (asked > 0) seconds_each = std::max(1e-6, seconds_since(begin) / asked);
      more = scores.configurations() > known && static_cast<double>(cost.asked() - at_first) + 2 < allowed &&
             !search.should_stop() && until_s - seconds_since(start) > 20 * seconds_each;
    }
    if (other && cost.best().predicted_ns < kFailed) scores.found_from_diverse_start(cost.best());
  }
}

// Runs every lane in a thread of its own; rethrows the first exception when all have ended.
void walk_all(const std::vector<FusionLane>& lanes, const Space& space, Scores& scores, double seconds_each,
              const FusionSearchOptions& options) {
  std::vector<std::exception_ptr> failures(lanes.size());
  const auto walk_lane = [&](size_t i) {
    try {
      walk(lanes[i], i, lanes.size(), space, scores, seconds_each, options);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < lanes.size(); ++i) threads.emplace_back(walk_lane, i);
  walk_lane(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const Stopped&) {
      // The time is over: keep the results so far.
    }
  }
}

}  // namespace

FusionModel::FusionModel(std::unique_ptr<cost::LearnedModel> model, double launch_ns)
    : model_(std::move(model)), launch_ns_(launch_ns) {
  if (!model_->predicts_runtime())
    throw Error("this model ranks options and predicts no run times", model_->name(),
                "weights of hone train fusion do");
}

double FusionModel::kernel_ns(const Kernel& kernel) {
  const std::lock_guard lock(mutex_);  // the model is not thread-safe
  const auto known = known_.find(kernel.fingerprint);
  if (known != known_.end()) return known->second;
  const double start = steady_s();
  const double ns = model_->predict(cost::EncodedOptions(kernel, {kernel.default_value()}).view()).at(0);
  spent_ns_ += static_cast<int64_t>(1e9 * seconds_since(start));
  ++kernels_;
  known_.emplace(kernel.fingerprint, ns);
  return ns;
}

double FusionModel::program_ns(const Lowered& lowered) {
  double ns = 0;
  for (const Kernel& kernel : lowered.kernels) {
    try {
      ns += kernel.runs * (kernel_ns(kernel) + launch_ns_);
    } catch (const Error& e) {
      spdlog::debug("{} is not predicted: {}", kernel.name, e.what());
      return std::numeric_limits<double>::infinity();
    }
  }
  return ns;
}

std::unique_ptr<FusionModel> shipped_run_times(const std::string& name, const std::string& models, int threads,
                                               const std::string& max_isa) {
  const std::string weights = cost::shipped_model(name, models);
  return weights.empty()
             ? nullptr
             : std::make_unique<FusionModel>(cost::open_run_time_model(weights, threads, max_isa, /*networks=*/false));
}

std::unique_ptr<FusionModel> open_fusion_model(const std::string& path, const features::Cpu& cpu) {
  if (path == "analytical") return std::make_unique<FusionModel>(cost::analytical_member("", "fusion", cpu));
  return std::make_unique<FusionModel>(cost::load_learned_model(path, cpu, /*networks=*/false));
}

void FusionSearchOptions::validate() const {
  if (!(budget_s > 0)) throw Error("the time for a search must be positive", "--fusion-budget");
  if (chains < 1) throw Error("a search needs at least one chain", "--fusion-chains");
  if (finalists < 1 || max_configurations < 1) throw Error("a search needs at least one configuration and finalist");
}

std::vector<FusionCandidate> FusionSearchReport::finalists() const {
  std::vector<FusionCandidate> order;
  for (size_t i = 0; i < std::max(best.size(), from_diverse_starts.size()); ++i) {
    if (i < best.size()) order.push_back(best[i]);
    if (i < from_diverse_starts.size()) order.push_back(from_diverse_starts[i]);
  }
  return order;
}

FusionSearchReport search_fusion(const std::vector<FusionLane>& lanes, const Decisions& base,
                                 const std::vector<Dimension>& edges, FusionModel& model,
                                 const FusionSearchOptions& options) {
  options.validate();
  FusionSearchReport report;
  Space space;
  for (const Dimension& edge : edges)
    if (edge.options.size() > 1) space.dimensions.push_back(edge);
  if (space.dimensions.empty() || lanes.empty()) return report;
  const double start = steady_s();
  const double model_before = model.seconds();
  const int64_t kernels_before = model.kernels();
  spdlog::debug("fusion search: begins, {} edges", space.dimensions.size());
  Scores scores(base, model, options);
  report.own_ns = scores.of(lanes[0], {});
  const double own_s = seconds_since(start);
  report.start_ns = options.start.empty() ? report.own_ns : scores.of(lanes[0], options.start);
  if (report.start_ns < kFailed) {
    scores.set_start(report.start_ns);
    // The first lowering predicts every kernel for the first time; later configurations are many times as fast.
    walk_all(lanes, space, scores, std::max(1e-4, own_s / 16), options);
  }
  scores.fill(report);
  report.kernels = model.kernels() - kernels_before;
  report.seconds = seconds_since(start);
  report.model_s = model.seconds() - model_before;
  spdlog::debug("fusion search: ends, {} configurations in {:.2f} s, {} kernels in the model for {:.2f} s",
                report.configurations, report.seconds, report.kernels, report.model_s);
  return report;
}

}  // namespace hone::tune
