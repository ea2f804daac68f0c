#include "tune/program/predicted_layouts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cost/run_time_model.h"
#include "cost/shipped.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr int64_t kLoweredNodes = 48'000;  // of all lowerings together
constexpr int64_t kMostLowered = 256;

// The largest gain that any model sees: the logarithm of its time without over with the layout.
double largest_margin(const std::vector<double>& own, const std::vector<double>& with) {
  double margin = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < own.size(); ++i) margin = std::max(margin, std::log(own[i] / with[i]));
  return margin;
}

}  // namespace

VariedModels shipped_varied_models(const std::string& models, int threads, const std::string& max_isa) {
  VariedModels opened;
  const std::string folder = cost::shipped_model(kVariedModel, models);
  if (folder.empty()) return opened;
  for (const std::string& weights : files_in(folder, ".safetensors"))
    opened.push_back(std::make_unique<FusionModel>(cost::open_run_time_model(weights, threads, max_isa)));
  return opened;
}

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
  const std::vector<double> own = predict({});
  const auto is_time = [](double ns) { return ns > 0 && std::isfinite(ns); };
  if (own.empty() || !std::all_of(own.begin(), own.end(), is_time)) return {};
  std::set<std::vector<double>> seen{own};
  std::vector<PredictedLayout> found;
  int place = -1;
  for (const Decision& decision : single_layouts(layouts.space.dimensions)) {
    if (options.should_stop() || ++place == options.most || seconds_since(start) > options.budget_s) break;
    const std::vector<double> ns = predict({decision});
    if (ns.size() != own.size() || !seen.insert(ns).second) continue;
    found.push_back({decision, largest_margin(own, ns), place});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.margin > b.margin; });
  return found;
}

std::vector<PredictedLayout> predict_layouts(Session& session, const Decisions& base, const VariedModels& models,
                                             double budget_s) {
  const LayoutSpace layouts = layout_space_from(session.list_layouts(base), LayoutsOf::All);
  const auto nodes = static_cast<int64_t>(layouts.graph.nodes.size());
  LayoutPredictions options{
      .most = static_cast<int>(std::clamp<int64_t>(kLoweredNodes / std::max<int64_t>(nodes, 1), 8, kMostLowered)),
      .budget_s = budget_s,
      .should_stop = interrupted};
  const auto predict = [&](const Decisions& decisions) {
    std::vector<double> ns;
    try {
      const Lowered lowered = session.lower_to_predict(merged(base, decisions));
      for (const auto& model : models) ns.push_back(kOutsideKernelsNs + model->program_ns(lowered));
    } catch (const Error& e) {
      spdlog::debug("{}: not predicted: {}", to_text(decisions), e.what());
      ns.clear();
    }
    return ns;
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
