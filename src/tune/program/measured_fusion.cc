#include "tune/program/measured_fusion.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "search/strategies.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kRounds = 16;  // of annealing and of measuring, as long as each other, in a short search
constexpr double kLeastRoundS = 0.5, kMostRoundS = 2, kLeastS = 1e-3;
constexpr double kSmallShare = 5e-4;  // of the program's time: a kernel below is not measured
constexpr size_t kBatch = 4;          // kernels that are measured before the best configuration is looked for again
constexpr double kDeviation = 0.2;    // of the logarithm of a prediction's error, for draws
constexpr int kIdleRounds = 8;        // that find no kernel to measure, after which nothing is left to find
constexpr size_t kMostKept = 64;      // configurations

// A configuration and its kernels.
struct Configuration {
  FusionCandidate candidate;
  std::map<std::string, double> runs;  // of each kernel, by fingerprint
};

class MeasuredSearch {
 public:
  MeasuredSearch(const std::vector<FusionLane>& lanes, const Decisions& base, const std::vector<Dimension>& edges,
                 FusionModel& model, const MeasuredFusionOptions& options)
      : lanes_(lanes),
        base_(base),
        edges_(edges),
        model_(model),
        options_(options),
        round_s_(std::clamp(options.search.budget_s / kRounds, kLeastRoundS, kMostRoundS)),
        begin_(steady_s()) {}

  FusionSearchReport run() {
    FusionSearchOptions search = options_.search;
    search.budget_s = std::clamp(left(), kLeastS, search.chains * round_s_ / 2);
    report_ = search_fusion(lanes_, base_, edges_, model_, search);
    if (report_.configurations == 0 || report_.start_ns == kFailed || !note(options_.search.start)) return report_;
    add(report_);
    confirm();
    search.chains = 1;
    search.diverse_starts.clear();
    for (int idle = 0; idle < kIdleRounds && left() > kLeastRoundS && measured() < options_.most_kernels; ++idle) {
      const int64_t before = measured();
      search.budget_s = std::min(left(), round_s_);
      search.seed += 7919;
      model_.draw(search.seed, kDeviation);
      price();
      search.start = best_settled().candidate.decisions;
      const FusionSearchReport round = search_fusion(lanes_, base_, edges_, model_, search);
      report_.configurations += round.configurations;
      report_.programs += round.programs;
      report_.failed += round.failed;
      report_.kernels += round.kernels;
      report_.model_s += round.model_s;
      add(round);
      confirm();
      if (measured() > before) idle = 0;
    }
    return finished();
  }

 private:
  double left() const { return std::min(options_.search.budget_s - seconds_since(begin_), lanes_[0].seconds_left()); }

  // Adds a configuration, unless its program is there already.
  bool note(const Decisions& decisions) {
    try {
      const Lowered lowered = lanes_[0].lower(merged(base_, decisions));
      Configuration found{{decisions, model_.program_ns(lowered)}, {}};
      if (!(found.candidate.predicted_ns < kFailed)) return false;
      for (const Kernel& kernel : lowered.kernels) found.runs[kernel.fingerprint] += kernel.runs;
      const bool known =
          std::any_of(pool_.begin(), pool_.end(), [&](const Configuration& c) { return c.runs == found.runs; });
      if (!known) pool_.push_back(std::move(found));
      return !known;
    } catch (const Error& failed) {
      spdlog::debug("fusion {}: {}", to_text(decisions), failed.what());
      return false;
    }
  }

  void add(const FusionSearchReport& round) {
    for (const FusionCandidate& candidate : round.finalists()) note(candidate.decisions);
    price();
    if (pool_.size() <= kMostKept) return;
    std::stable_sort(pool_.begin() + 1, pool_.end(),
                     [](const auto& a, const auto& b) { return a.candidate.predicted_ns < b.candidate.predicted_ns; });
    pool_.resize(kMostKept);
  }

  // By what is known of kernels now.
  void price() {
    for (Configuration& one : pool_) {
      one.candidate.predicted_ns = 0;
      for (const auto& [fingerprint, runs] : one.runs)
        one.candidate.predicted_ns += runs * model_.known_ns(fingerprint);
    }
  }

  const Configuration& best() const {
    return *std::min_element(pool_.begin(), pool_.end(), [](const auto& a, const auto& b) {
      return a.candidate.predicted_ns < b.candidate.predicted_ns;
    });
  }

  // Of those whose differences from the start are all measured.
  const Configuration& best_settled() const {
    const Configuration* best = &pool_[0];
    for (const Configuration& one : pool_)
      if (one.candidate.predicted_ns < best->candidate.predicted_ns && open_between(one, pool_[0]).empty()) best = &one;
    return *best;
  }

  // Kernels that run more or less often in one configuration than in the other and were neither measured nor tried, by the time that they take.
  std::vector<std::string> open_between(const Configuration& a, const Configuration& b) const {
    std::vector<std::pair<double, std::string>> open;
    const auto look = [&](const Configuration& in, const Configuration& other) {
      for (const auto& [fingerprint, runs] : in.runs) {
        const auto there = other.runs.find(fingerprint);
        const double difference = runs - (there == other.runs.end() ? 0 : there->second);
        const double ns = difference * model_.known_ns(fingerprint);
        const bool open_here = !tried_.contains(fingerprint) && !model_.is_measured(fingerprint);
        if (open_here && ns > kSmallShare * a.candidate.predicted_ns) open.emplace_back(ns, fingerprint);
      }
    };
    look(a, b);
    look(b, a);
    std::sort(open.rbegin(), open.rend());
    std::vector<std::string> fingerprints;
    for (auto& [ns, fingerprint] : open) fingerprints.push_back(std::move(fingerprint));
    return fingerprints;
  }

  // Measures kernels of the best configuration, a few at a time, until one whose kernels are all measured is the best.
  void confirm() {
    const double until_s = std::max(measuring_s_ + round_s_, 0.5 * seconds_since(begin_));
    while (measuring_s_ < until_s && left() > 0 && measured() < options_.most_kernels) {
      const Configuration& now = best();
      std::vector<std::string> open = open_between(now, pool_[0]);
      if (open.empty()) return;
      open.resize(std::min({open.size(), kBatch, static_cast<size_t>(options_.most_kernels - measured())}));
      const double start = steady_s();
      measure(open, now);
      measuring_s_ += seconds_since(start);
      price();
    }
  }

  // Kernels of the configuration or of the start.
  void measure(const std::vector<std::string>& fingerprints, const Configuration& of) {
    std::map<std::string, Kernel> kernels;
    for (const Configuration* one : {&of, static_cast<const Configuration*>(&pool_[0])})
      for (Kernel& kernel : lanes_[0].lower(merged(base_, one->candidate.decisions)).kernels)
        kernels.emplace(kernel.fingerprint, std::move(kernel));
    for (const std::string& fingerprint : fingerprints) {
      tried_.insert(fingerprint);
      const std::optional<double> ns = options_.measure(kernels.at(fingerprint));
      if (ns) model_.tell(fingerprint, *ns);
    }
  }

  int64_t measured() const { return static_cast<int64_t>(tried_.size()); }

  // First those whose differences from the start are all measured, then those that are predicted to be faster.
  FusionSearchReport finished() {
    model_.draw(0, 0);
    price();
    report_.start_ns = pool_[0].candidate.predicted_ns;
    std::vector<std::pair<bool, FusionCandidate>> faster;  // whether something was not measured
    for (const Configuration& one : pool_)
      if (one.candidate.predicted_ns < report_.start_ns)
        faster.emplace_back(!open_between(one, pool_[0]).empty(), one.candidate);
    std::stable_sort(faster.begin(), faster.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second.predicted_ns) < std::pair(b.first, b.second.predicted_ns);
    });
    if (faster.size() > static_cast<size_t>(options_.search.finalists)) faster.resize(options_.search.finalists);
    report_.best.clear();
    for (auto& [open, candidate] : faster) report_.best.push_back(std::move(candidate));
    report_.measured = measured();
    report_.seconds = seconds_since(begin_);
    return report_;
  }

  const std::vector<FusionLane>& lanes_;
  const Decisions& base_;
  const std::vector<Dimension>& edges_;
  FusionModel& model_;
  const MeasuredFusionOptions& options_;
  const double round_s_, begin_;
  FusionSearchReport report_;
  std::vector<Configuration> pool_;  // the start first
  std::set<std::string> tried_;      // kernels, by fingerprint
  double measuring_s_ = 0;
};

}  // namespace

FusionSearchReport search_measured_fusion(const std::vector<FusionLane>& lanes, const Decisions& base,
                                          const std::vector<Dimension>& edges, FusionModel& model,
                                          const MeasuredFusionOptions& options) {
  if (options.most_kernels == 0 || lanes.empty()) return search_fusion(lanes, base, edges, model, options.search);
  options.search.validate();
  return MeasuredSearch(lanes, base, edges, model, options).run();
}

}  // namespace hone::tune
