#include "tune/kernel/kernel_tuner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "cost/kernel_ranker.h"
#include "tune/kernel/kernel_moves.h"

namespace hone::tune {

namespace {

constexpr size_t kTopList = 10;
constexpr double kKernelFloorSeconds = 0.5;
constexpr int kUnproven = 3;  // options with unverifiable outputs, and no others, after which a search ends
constexpr double kNegligibleShare = 1e-4;

// One search over the options of one kernel.
class Search {
 public:
  Search(const Kernel& kernel, Measurer& measurer, double budget_s, const KernelOptions& options, Rng& rng)
      : kernel_(kernel),
        measurer_(measurer),
        stop_at_(measurer.seconds_left() - budget_s),
        options_(options),
        rng_(rng),
        measured_(kernel.dimension.options.size()) {
    const KnownKernel known = measurer.known(kernel);
    const auto& all = kernel.dimension.options;
    if (known.best && std::find(all.begin(), all.end(), known.best->value) != all.end()) best_known_ = known.best;
    for (size_t i = 0; i < measured_.size(); ++i) {
      const auto found = known.measured.find(kernel.dimension.options[i]);
      if (found != known.measured.end()) measured_[i] = found->second;
    }
  }

  KernelReport run() {
    KernelReport report = empty_report();
    if (best_known_) return fill_known(report);
    if (options_.ranker) rank();
    if (options_.first) first_ = options_.first(kernel_);
    search();
    report.complete = in_time() && !negligible_;
    choose(report);
    if (report.complete && !report.top.empty()) measurer_.remember(kernel_, {report.chosen, winner(report)});
    if (tried_ > 0 && options_.on_searched) options_.on_searched(kernel_, report, all_measured());
    return report;
  }

 private:
  void search() {
    if (belief_) return follow_belief();
    if (!try_first()) return;
    if (options_.top_k > 0)
      try_best_ranked();
    else if (static_cast<int>(measured_.size()) <= options_.exhaustive_limit)
      cover();
    else
      climb();
  }

  bool in_time() const { return measurer_.seconds_left() > std::max(0.0, stop_at_); }

  // The measurement of the chosen option; for the default a ratio of 1.
  Measurement winner(const KernelReport& report) const {
    if (report.improved()) return finals_.front().measurement;
    return {.outcome = Outcome::Ok,
            .baseline_ns = report.default_ns,
            .candidate_ns = report.default_ns,
            .ratio = 1,
            .ratio_low = 1,
            .ratio_high = 1,
            .rounds = report.top.front().measurement.rounds};
  }

  KernelReport empty_report() const {
    KernelReport report;
    report.fingerprint = kernel_.fingerprint;
    report.name = kernel_.name;
    report.kind = kernel_.kind;
    report.count = kernel_.count;
    report.decision = kernel_.dimension.kind;
    report.key = kernel_.dimension.key;
    report.default_value = report.chosen = kernel_.default_value();
    report.default_tile = kernel_.default_tile;
    report.options = static_cast<int>(measured_.size());
    return report;
  }

  static void take(KernelReport& report, const std::string& value, const Measurement& winner) {
    report.chosen = value;
    report.gain = winner.ratio;
    report.gain_low = winner.ratio_low;
    report.gain_high = winner.ratio_high;
    report.default_ns = winner.baseline_ns;
    report.chosen_ns = winner.candidate_ns;
  }

  KernelReport& fill_known(KernelReport& report) const {
    report.known = report.complete = true;
    if (best_known_->value != report.default_value) {
      take(report, best_known_->value, best_known_->measurement);
      report.top.push_back({best_known_->value, best_known_->measurement});
    }
    return report;
  }

  // Measures option i once. False when the search should end.
  bool try_option(int i) {
    if (measured_[i]) return true;
    if (!in_time()) return false;
    measured_[i] = measurer_.measure_kernel(kernel_, kernel_.dimension.options[i], options_.quick);
    ++tried_;
    unproven_ += measured_[i]->outcome == Outcome::Unverified;
    if (measured_[i]->ok() && kernel_.count * measured_[i]->baseline_ns < options_.negligible_ns) {
      negligible_ = true;
      return false;
    }
    // The kernel's outputs cannot be verified (a constant fill, for example): this is the same for all options.
    return unproven_ < kUnproven || unproven_ < tried_;
  }

  // A kernel that cannot be ranked keeps its default.
  void try_best_ranked() {
    for (size_t place = 0;
         place < ranked_.size() && place < static_cast<size_t>(options_.top_k) && tried_ < options_.top_k; ++place)
      if (!try_option(ranked_[place])) return;
  }

  void cover() {
    // A sample as large as the space contains every option, in the same order of importance as for large spaces.
    for (int i : first_options(kernel_.dimension, 2 * options_.exhaustive_limit, rng_))
      if (!try_option(i)) return;
  }

  void rank() {
    const std::optional<cost::RankedScores> ranked = cost::ranked_or_nothing(kernel_, *options_.ranker);
    if (!ranked) return;
    ranked_ = cost::ranked_options(kernel_, *ranked);
    if (!options_.by_expectation || ranked->spreads.empty() || ranked->run_times) return;
    belief_.emplace(option_points(kernel_.dimension.options), ranked->scores, ranked->spreads,
                    kernel_.dimension.default_option, ranked->log_ratios ? options_.ratio_belief : options_.belief);
  }

  // False when the search should end. With top_k, these options count among those that are measured.
  bool try_first() {
    for (int i : first_) {
      if (options_.top_k > 0 && tried_ >= options_.top_k) return false;
      if (!try_option(i)) return false;
      tell(i);
    }
    return true;
  }

  void tell(int i) {
    if (!belief_ || !measured_[i] || i == kernel_.dimension.default_option) return;
    if (measured_[i]->ok() && measured_[i]->ratio > 0)
      belief_->observe(i, -std::log(measured_[i]->ratio));
    else
      belief_->rule_out(i);
  }

  void follow_belief() {
    for (int i = 0; i < static_cast<int>(measured_.size()); ++i) tell(i);  // known from an earlier search
    if (!try_first()) return;
    const int most = options_.top_k > 0 ? options_.top_k : options_.max_tried;
    while (tried_ < most) {
      const std::optional<int> i = belief_->next(options_.worth);
      if (!i) break;
      if (!try_option(*i)) return;
      tell(*i);
    }
    if (options_.top_k == 0) expand(/*among=*/1);
  }

  // Other emitters first, then the best ranked options or a sample of tiles, then the neighbours of the best.
  void climb() {
    for (int i : first_options(kernel_.dimension, ranked_.empty() ? options_.samples : 0, rng_))
      if (!try_option(i)) return;
    for (size_t place = 0; place < ranked_.size() && place < static_cast<size_t>(options_.samples); ++place)
      if (!try_option(ranked_[place])) return;
    expand(options_.finalists);
  }

  // Tries the neighbours of the best `among` options, until those have no untried neighbours.
  void expand(int among) {
    std::vector<bool> expanded(measured_.size());
    while (tried_ < options_.max_tried) {
      const std::optional<int> from = best_unexpanded(expanded, among);
      if (!from) return;
      expanded[*from] = true;
      for (int i : neighbours(kernel_.dimension, *from))
        if (!try_option(i)) return;
    }
  }

  // The best measured option whose neighbours were not tried, if it is among the best `among` of all.
  std::optional<int> best_unexpanded(const std::vector<bool>& expanded, int among) const {
    const std::vector<int> order = ranking();
    for (size_t place = 0; place < order.size() && place < static_cast<size_t>(among); ++place)
      if (!expanded[order[place]]) return order[place];
    return std::nullopt;
  }

  std::vector<Tried> all_measured() const {
    std::vector<Tried> all;
    for (size_t i = 0; i < measured_.size(); ++i)
      if (measured_[i]) all.push_back({kernel_.dimension.options[i], *measured_[i]});
    return all;
  }

  // Measured and verified options, fastest first; the default is never among them.
  std::vector<int> ranking() const {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(measured_.size()); ++i)
      if (i != kernel_.dimension.default_option && measured_[i] && measured_[i]->ok()) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return measured_[a]->ratio > measured_[b]->ratio; });
    return order;
  }

  // Measures the finalists with the careful duel and takes the one with the best lower bound.
  void choose(KernelReport& report) {
    const std::vector<int> order = ranking();
    for (size_t place = 0; !negligible_ && place < order.size() && place < static_cast<size_t>(options_.finalists);
         ++place) {
      const Measurement& quick = *measured_[order[place]];
      if (quick.ratio < 1 + 2 * (options_.min_gain - 1) || measurer_.seconds_left() <= 0) break;
      const std::string& value = kernel_.dimension.options[order[place]];
      finals_.push_back({value, measurer_.measure_kernel(kernel_, value, options_.careful)});
    }
    std::stable_sort(finals_.begin(), finals_.end(), [](const Tried& a, const Tried& b) {
      return std::pair(a.measurement.ok(), a.measurement.ratio_low) >
             std::pair(b.measurement.ok(), b.measurement.ratio_low);
    });
    if (!finals_.empty() && finals_[0].measurement.ok() && finals_[0].measurement.ratio_low > options_.min_gain)
      take(report, finals_[0].value, finals_[0].measurement);
    report.tried = tried_;
    report.top = finals_;
    for (int i : order) {
      const std::string& value = kernel_.dimension.options[i];
      const bool final = std::any_of(finals_.begin(), finals_.end(), [&](const Tried& t) { return t.value == value; });
      if (!final && report.top.size() < kTopList) report.top.push_back({value, *measured_[i]});
    }
    if (report.default_ns == 0 && !report.top.empty()) {
      report.default_ns = report.chosen_ns = report.top[0].measurement.baseline_ns;
    }
  }

  const Kernel& kernel_;
  Measurer& measurer_;
  double stop_at_;  // in the measurer's seconds left
  const KernelOptions& options_;
  Rng& rng_;
  std::vector<std::optional<Measurement>> measured_;
  std::vector<int> ranked_;  // best first, without the default; empty without a ranker
  std::vector<int> first_;   // to try before all others
  std::optional<OptionBelief> belief_;
  std::optional<KnownKernel::Best> best_known_;
  std::vector<Tried> finals_;
  int tried_ = 0, unproven_ = 0;
  bool negligible_ = false;
};

}  // namespace

void KernelOptions::validate() const {
  if (exhaustive_limit < 1 || samples < 1 || finalists < 1 || max_tried < 1)
    throw Error("kernel tuning needs at least one option, sample and finalist");
  if (top_k < 0) throw Error("the number of options must not be negative", "--top-k");
  if (top_k > 0 && !ranker) throw Error("the best options of a kernel need a model to rank them", "--top-k");
  if (!(worth >= 0)) throw Error("the least expected gain must not be negative");
  belief.validate();
  ratio_belief.validate();
  if (min_gain < 1) throw Error("a kernel's least gain must be at least 1");
}

KernelReport tune_kernel(const Kernel& kernel, Measurer& measurer, double budget_s, const KernelOptions& options,
                         Rng& rng) {
  return Search(kernel, measurer, budget_s, options, rng).run();
}

std::vector<KernelReport> known_kernels(const std::vector<Kernel>& kernels, Measurer& measurer) {
  const std::vector<double> shares = kernel_shares(kernels);
  const KernelOptions options;
  Rng unused(0);
  std::vector<KernelReport> reports;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].dimension.options.size() < 2 || !measurer.known(kernels[i]).best) continue;
    KernelReport report = tune_kernel(kernels[i], measurer, /*budget_s=*/0, options, unused);
    report.share = shares[i];
    reports.push_back(std::move(report));
  }
  std::stable_sort(reports.begin(), reports.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return reports;
}

std::vector<KernelReport> tune_kernels(const std::vector<Kernel>& kernels, Measurer& measurer, double budget_s,
                                       const KernelOptions& options, Rng& rng,
                                       const std::function<void(const KernelsProgress&)>& on_kernel) {
  const std::vector<double> shares = kernel_shares(kernels);
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(kernels.size()); ++i)
    if (kernels[i].dimension.options.size() > 1 && shares[i] >= kNegligibleShare) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return shares[a] > shares[b]; });

  const double stop_at = measurer.seconds_left() - budget_s;
  std::vector<KernelReport> reports;
  for (size_t place = 0; place < order.size(); ++place) {
    std::vector<double> left;
    for (size_t i = place; i < order.size(); ++i) left.push_back(shares[order[i]]);
    const double seconds = next_budget(left, measurer.seconds_left() - std::max(0.0, stop_at), kKernelFloorSeconds);
    if (seconds <= 0) break;
    reports.push_back(tune_kernel(kernels[order[place]], measurer, seconds, options, rng));
    reports.back().share = shares[order[place]];
    on_kernel({static_cast<int>(place) + 1, static_cast<int>(order.size()), &reports.back()});
  }
  return reports;
}

}  // namespace hone::tune
