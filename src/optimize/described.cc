#include "optimize/described.h"

#include <algorithm>
#include <cmath>

namespace hone::optimize {

void take(const std::string& transition, const tune::AcceptanceThreshold& threshold, const std::string& option,
          double margin, OptimizedKernel& into) {
  into.applied = true;
  into.transition = transition;
  into.chosen = option;
  into.margin = margin;
  into.gain = std::exp(threshold.gain);
  into.error = into.gain - std::exp(threshold.low);
}

OptimizedKernel described(const Kernel& kernel, double share) {
  OptimizedKernel o;
  o.fingerprint = kernel.fingerprint;
  o.name = kernel.name;
  o.kind = kernel.kind;
  o.count = kernel.count;
  o.options = static_cast<int>(kernel.dimension.options.size());
  o.share = share;
  o.decision = kernel.dimension.kind;
  o.key = kernel.dimension.key;
  o.default_value = o.chosen = kernel.default_value();
  return o;
}

OptimizedKernel described(const Dimension& d, const std::string& kind) {
  OptimizedKernel o;
  o.name = o.key = d.key;
  o.kind = kind;
  o.options = static_cast<int>(d.options.size());
  o.decision = d.kind;
  o.default_value = o.chosen = d.options[d.default_option];
  return o;
}

OptimizedKernel described(const ChosenForm& form, const Decision& decision, const std::vector<Dimension>& dimensions) {
  const auto d = std::find_if(dimensions.begin(), dimensions.end(),
                              [&](const Dimension& of) { return of.kind == decision.kind && of.key == decision.key; });
  OptimizedKernel o = described(*d, form.transition);
  o.count = d->count;
  take(form.transition, form.threshold, decision.value, form.margin, o);
  return o;
}

OptimizedKernel described(const DuelWinner& won) {
  OptimizedKernel o;
  const Decision& decision = won.candidate.decision;
  o.name = o.key = decision.key;
  o.kind = o.transition = won.candidate.kind;
  o.decision = decision.kind;
  o.default_value = won.candidate.default_value;
  o.chosen = decision.value;
  o.margin = won.candidate.margin;
  o.gain = won.measurement.ratio;
  o.error = std::max(0.0, won.measurement.ratio - won.measurement.ratio_low);
  o.applied = true;
  return o;
}

}  // namespace hone::optimize
