#include "optimize/operations.h"

#include <algorithm>
#include <cmath>

#include "graph/decision_family.h"
#include "graph/operation_key.h"
#include "tune/session/decision_list.h"

namespace hone::optimize {
namespace {

constexpr double kLeastSureGain = 1.03;

}  // namespace

std::vector<OptimizedKernel> choose_rewrites(const std::vector<Dimension>& dimensions, const tune::Calibration& gains) {
  std::vector<OptimizedKernel> rewrites;
  for (const Dimension& d : dimensions) {
    const DecisionFamily* family = d.kind == DecisionKind::Rewrite ? family_of(d) : nullptr;
    if (!family || !*family->transition) continue;  // only measuring shows what it is worth
    const std::string transition = tune::rewrite_transition(d);
    const tune::AcceptanceThreshold& threshold = gains.of(transition);
    OptimizedKernel o = described(d, transition);
    o.margin = tune::rewrite_margin(d);
    if (threshold.accepts(o.margin)) take(transition, threshold, kShifted, o.margin, o);
    rewrites.push_back(std::move(o));
  }
  return rewrites;
}

OptimizedKernel choose_form(const Dimension& d, const cost::OperationRanker& ranker) {
  OptimizedKernel chosen = described(d, family_of(d)->words);
  chosen.count = d.count;
  std::vector<Kernel> storages = {tune::operation_alone(d, {})};
  if (!d.weights.empty() && belongs_to(FamilyId::DenseConvolution, d.kind, d.key))
    storages.push_back(tune::operation_alone(d, tune::as_constants(d.weights)));
  double most = std::log(kLeastSureGain);
  for (const Kernel& operation : storages)
    for (const std::string& form : d.options) {
      const std::optional<double> sure =
          form == chosen.default_value ? std::nullopt : ranker.sure_gain(operation, form);
      if (!sure || *sure <= most) continue;
      most = *sure;
      const double expected = ranker.gain(operation, form)->middle;
      chosen.applied = true;
      chosen.chosen = form;
      chosen.under = operation.under;
      chosen.transition = cost::form_family(form);
      chosen.margin = expected;
      chosen.gain = std::exp(expected);
      chosen.error = std::max(0.0, chosen.gain - std::exp(*sure));
    }
  return chosen;
}

bool is_calibrated(const Dimension& d, const cost::OperationRanker& ranker) {
  if (d.kind != DecisionKind::Rewrite || !operation_sizes(d.key)) return false;
  const Kernel operation = tune::operation_alone(d, {});
  return std::all_of(d.options.begin(), d.options.end(), [&](const std::string& form) {
    return form == operation.default_value() || ranker.sure_gain(operation, form).has_value();
  });
}

}  // namespace hone::optimize
