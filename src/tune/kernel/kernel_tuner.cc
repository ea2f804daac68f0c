#include "tune/kernel/kernel_tuner.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "tune/kernel/kernel_moves.h"

namespace hone::tune {

namespace {

constexpr size_t kTopList = 10;
constexpr double kKernelFloorSeconds = 0.5;
constexpr double kInPlaceGain = 1.01;  // of an option that is worth a duel of the program with those of other kernels

KernelReport empty_report(const Kernel& kernel) {
  KernelReport report;
  report.fingerprint = kernel.fingerprint;
  report.name = kernel.name;
  report.kind = kernel.kind;
  report.count = kernel.count;
  report.decision = kernel.dimension.kind;
  report.key = kernel.dimension.key;
  report.under = kernel.under;
  report.default_value = report.chosen = kernel.default_value();
  report.default_tile = kernel.default_tile;
  report.options = static_cast<int>(kernel.dimension.options.size());
  return report;
}

// Sets what was tried, with `finals` before the quick measurements of other options.
void fill_tried(const OptionWalk& walk, const std::vector<Tried>& finals, KernelReport& report) {
  report.tried = walk.tried();
  report.top = finals;
  for (const int i : walk.ranking()) {
    const std::string& value = walk.dimension().options[i];
    const bool final = std::any_of(finals.begin(), finals.end(), [&](const Tried& t) { return t.value == value; });
    if (!final && report.top.size() < kTopList) report.top.push_back({value, *walk.measured(i)});
  }
}

void take(KernelReport& report, const std::string& value, const Measurement& winner) {
  report.chosen = value;
  report.gain = winner.ratio;
  report.gain_low = winner.ratio_low;
  report.gain_high = winner.ratio_high;
  report.default_ns = winner.baseline_ns;
  report.chosen_ns = winner.candidate_ns;
}

// One search over the options of one kernel, measured by itself.
class Search {
 public:
  Search(const Kernel& kernel, Measurer& measurer, double budget_s, const KernelOptions& options, Rng& rng)
      : kernel_(kernel),
        measurer_(measurer),
        stop_at_(measurer.seconds_left() - budget_s),
        options_(options),
        rng_(rng) {}

  KernelReport run() {
    KernelReport report = empty_report(kernel_);
    const KnownKernel known = measurer_.known(kernel_);
    const auto& all = kernel_.dimension.options;
    if (known.best && std::find(all.begin(), all.end(), known.best->value) != all.end())
      return fill_known(report, *known.best);
    OptionWalk walk(kernel_, options_, known.measured);
    bool negligible = false;
    while (!negligible && in_time()) {
      const std::optional<int> i = walk.next(rng_);
      if (!i) break;
      const Measurement m = measurer_.measure_kernel(kernel_, all[*i], options_.quick);
      walk.tell(*i, m);
      negligible = m.ok() && kernel_.runs * m.baseline_ns < options_.negligible_ns;
    }
    report.complete = in_time() && !negligible;
    if (!negligible) measure_finalists(walk);
    choose(walk, report);
    if (report.complete && !report.top.empty()) measurer_.remember(kernel_, {report.chosen, winner(report)});
    if (walk.tried() > 0 && options_.on_searched) options_.on_searched(kernel_, report, walk.all_measured());
    return report;
  }

 private:
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

  static KernelReport& fill_known(KernelReport& report, const KnownKernel::Best& best) {
    report.known = report.complete = true;
    if (best.value != report.default_value) {
      take(report, best.value, best.measurement);
      report.top.push_back({best.value, best.measurement});
    }
    return report;
  }

  // Measures the best with the careful duel; the one with the best lower bound comes first.
  void measure_finalists(const OptionWalk& walk) {
    for (const int i : walk.ranking()) {
      if (finals_.size() >= static_cast<size_t>(options_.finalists)) break;
      if (walk.measured(i)->ratio < 1 + 2 * (options_.min_gain - 1) || measurer_.seconds_left() <= 0) break;
      const std::string& value = kernel_.dimension.options[i];
      finals_.push_back({value, measurer_.measure_kernel(kernel_, value, options_.careful)});
    }
    std::stable_sort(finals_.begin(), finals_.end(), [](const Tried& a, const Tried& b) {
      return std::pair(a.measurement.ok(), a.measurement.ratio_low) >
             std::pair(b.measurement.ok(), b.measurement.ratio_low);
    });
  }

  void choose(const OptionWalk& walk, KernelReport& report) const {
    if (!finals_.empty() && finals_[0].measurement.ok() && finals_[0].measurement.ratio_low > options_.min_gain)
      take(report, finals_[0].value, finals_[0].measurement);
    fill_tried(walk, finals_, report);
    if (report.default_ns == 0 && !report.top.empty())
      report.default_ns = report.chosen_ns = report.top[0].measurement.baseline_ns;
  }

  const Kernel& kernel_;
  Measurer& measurer_;
  double stop_at_;  // in the measurer's seconds left
  const KernelOptions& options_;
  Rng& rng_;
  std::vector<Tried> finals_;
};

}  // namespace

KernelReport report_in_place(const Kernel& kernel, const OptionWalk& walk) {
  KernelReport report = empty_report(kernel);
  report.in_place = true;
  fill_tried(walk, {}, report);
  if (report.top.empty()) return report;
  const Measurement& best = report.top[0].measurement;
  report.default_ns = report.chosen_ns = best.baseline_ns;
  if (best.ratio_low > 1 && best.ratio > kInPlaceGain) take(report, report.top[0].value, best);
  return report;
}

KernelReport tune_kernel(const Kernel& kernel, Measurer& measurer, double budget_s, const KernelOptions& options,
                         Rng& rng) {
  return Search(kernel, measurer, budget_s, options, rng).run();
}

double kernel_cost_s(const Kernel& kernel, double run_s, const KernelOptions& options) {
  constexpr double kCompileSeconds = 0.03, kFinalists = 1.5, kEnough = 0.4;  // as a rule; of a careful duel's budget
  const auto count = static_cast<double>(kernel.dimension.options.size() - 1);
  const double tried = std::min(count, options.top_k > 0 ? options.top_k : static_cast<double>(options.samples));
  const auto seconds = [&](const Duel& duel) {
    return std::max(2 * (duel.min_rounds + 1) * run_s, kEnough * duel.budget_ms / 1e3);
  };
  return tried * (kCompileSeconds + seconds(options.quick)) + kFinalists * seconds(options.careful);
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
