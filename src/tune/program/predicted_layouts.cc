#include "tune/program/predicted_layouts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr int64_t kLoweredNodes = 48'000;  // of all lowerings together
constexpr int64_t kMostLowered = 256;

}  // namespace

std::vector<Decision> single_layouts(const std::vector<Dimension>& dimensions) {
  std::vector<const Dimension*> order;
  for (const Dimension& d : dimensions) order.push_back(&d);
  std::stable_sort(order.begin(), order.end(),
                   [](const Dimension* a, const Dimension* b) { return a->weight * a->count > b->weight * b->count; });
  std::vector<Decision> found;
  for (size_t round = 0, before = 1; found.size() != before || round == 0; ++round) {
    before = found.size();
    for (const Dimension* d : order) {
      const size_t option = round + (round >= static_cast<size_t>(d->default_option) ? 1 : 0);
      if (option < d->options.size()) found.push_back({d->kind, d->key, d->options[option]});
    }
  }
  return found;
}

std::vector<PredictedLayout> predict_layouts(const LayoutSpace& layouts, const PredictLayouts& predict,
                                             const LayoutPredictions& options) {
  const double start = steady_s();
  if (layouts.space.dimensions.empty()) return {};
  const std::optional<double> own = predict({});
  if (!own || !(*own > 0)) return {};
  std::set<double> seen{*own};
  std::vector<PredictedLayout> found;
  int place = -1;
  for (const Decision& decision : single_layouts(layouts.space.dimensions)) {
    if (options.should_stop() || ++place == options.most || seconds_since(start) > options.budget_s) break;
    const std::optional<double> ns = predict({decision});
    if (!ns || !seen.insert(*ns).second) continue;
    found.push_back({decision, std::log(*own / *ns), place});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.margin > b.margin; });
  return found;
}

std::vector<PredictedLayout> predict_layouts(Session& session, const Decisions& base, FusionModel& model,
                                             double budget_s) {
  const LayoutSpace layouts = layout_space_from(session.list_layouts(base), LayoutsOf::All);
  const auto nodes = static_cast<int64_t>(layouts.graph.nodes.size());
  LayoutPredictions options{
      .most = static_cast<int>(std::clamp<int64_t>(kLoweredNodes / std::max<int64_t>(nodes, 1), 8, kMostLowered)),
      .budget_s = budget_s,
      .should_stop = interrupted};
  const auto predict = [&](const Decisions& decisions) -> std::optional<double> {
    try {
      return kOutsideKernelsNs + model.program_ns(session.lower_to_predict(merged(base, decisions)));
    } catch (const Error& e) {
      spdlog::debug("{}: not predicted: {}", to_text(decisions), e.what());
      return std::nullopt;
    }
  };
  return predict_layouts(layouts, predict, options);
}

std::vector<PredictedLayout> in_turns(std::vector<PredictedLayout> predicted, size_t most) {
  const auto first = [](const auto& a, const auto& b) { return a.place < b.place; };
  std::vector<PredictedLayout> order;
  while (!predicted.empty() && order.size() < most) {
    const auto next =
        order.size() % 2 == 0 ? predicted.begin() : std::min_element(predicted.begin(), predicted.end(), first);
    order.push_back(*next);
    predicted.erase(next);
  }
  return order;
}

}  // namespace hone::tune
