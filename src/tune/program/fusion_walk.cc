#include "tune/program/fusion_walk.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "graph/strategy.h"
#include "search/annealing.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr int kPatience = 12;              // rejected measurements in a row after which the walk returns to its best
constexpr double kLastTemperature = 0.05;  // relative to the first
constexpr int kMostChanges = 16;           // edges changed at once, where fewer changes give no new program

struct Proposal {
  Choice choice;
  Decisions decisions;
  std::string program;  // fingerprint
  double predicted_ns = 0;
};

class Walk {
 public:
  Walk(const FusionLane& lane, FusionModel& model, const Decisions& base, Space space, const FusionWalkOptions& options)
      : lane_(lane), model_(model), base_(base), space_(std::move(space)), options_(options), rng_(options.seed) {}

  std::vector<WalkedFusion> run(const Decisions& start, int most) {
    Choice current = space_.choice(start), best = current;
    double current_cost = 1, best_cost = 1;
    if (std::optional<Proposal> first = proposal(current)) seen_.insert(first->program);
    std::vector<WalkedFusion> found;
    int idle = 0;
    while (options_.progress() < 1) {
      std::optional<Proposal> next = choose(current);
      if (!next) {
        if (++changes_ > kMostChanges) break;  // the neighbourhood is exhausted
        continue;
      }
      changes_ = 2;
      const Measurement m = options_.measure(next->decisions);
      const double cost = m.ok() && m.ratio > 0 ? 1 / m.ratio : kFailed;
      if (cost < 1) found.push_back({next->decisions, 1 / cost});
      if (metropolis_accepts(current_cost, cost, temperature(), rng_)) {
        current = next->choice;
        current_cost = cost;
        idle = 0;
      } else if (++idle >= kPatience) {
        current = best;
        current_cost = best_cost;
        idle = 0;
      }
      if (cost < best_cost) {
        best = next->choice;
        best_cost = cost;
      }
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.ratio > b.ratio; });
    if (found.size() > static_cast<size_t>(most)) found.resize(most);
    return found;
  }

 private:
  // Of several new programs near the current one, the one that is predicted fastest or, with the probability
  // `exploration`, a random one; nothing when no new program was found.
  std::optional<Proposal> choose(const Choice& current) {
    const double start_s = steady_s();
    std::vector<Proposal> proposals;
    std::set<std::string> programs;
    for (int i = 0; i < 2 * options_.proposals && static_cast<int>(proposals.size()) < options_.proposals; ++i) {
      if (!proposals.empty() && seconds_since(start_s) > options_.proposing_s) break;
      if (options_.progress() >= 1) return std::nullopt;
      std::optional<Proposal> one = proposal(neighbour(current));
      if (one && !seen_.contains(one->program) && programs.insert(one->program).second)
        proposals.push_back(std::move(*one));
    }
    if (proposals.empty()) return std::nullopt;
    auto chosen = std::min_element(proposals.begin(), proposals.end(),
                                   [](const auto& a, const auto& b) { return a.predicted_ns < b.predicted_ns; });
    if (rng_.uniform() < options_.exploration)
      chosen = proposals.begin() + rng_.below(static_cast<int64_t>(proposals.size()));
    seen_.insert(chosen->program);
    return std::move(*chosen);
  }

  std::optional<Proposal> proposal(Choice choice) {
    Proposal result{std::move(choice), {}, "", kFailed};
    result.decisions = space_.decisions(result.choice);
    try {
      const Lowered lowered = lane_.lower(merged(base_, result.decisions));
      result.program = lowered.fingerprint;
      result.predicted_ns = model_.program_ns(lowered);
    } catch (const Error& failed) {
      spdlog::debug("fusion {}: {}", to_text(result.decisions), failed.what());
      return std::nullopt;
    }
    return result;
  }

  Choice neighbour(Choice choice) {
    const auto edges = static_cast<int64_t>(space_.dimensions.size());
    for (int64_t changes = 1 + rng_.below(changes_); changes > 0; --changes) {
      const int64_t edge = rng_.below(edges);
      const auto options = static_cast<int64_t>(space_.dimensions[edge].options.size());
      choice[edge] = static_cast<int>((choice[edge] + 1 + rng_.below(options - 1)) % options);
    }
    return choice;
  }

  // Falls geometrically with the progress.
  double temperature() const {
    return options_.temperature * std::pow(kLastTemperature, std::clamp(options_.progress(), 0.0, 1.0));
  }

  const FusionLane& lane_;
  FusionModel& model_;
  const Decisions& base_;
  const Space space_;
  const FusionWalkOptions& options_;
  Rng rng_;
  std::set<std::string> seen_;  // fingerprints of measured programs and of the start
  int64_t changes_ = 2;         // edges changed in one move, at most
};

}  // namespace

std::vector<WalkedFusion> walk_fusion(const FusionLane& lane, FusionModel& model, const Decisions& base,
                                      const std::vector<Dimension>& edges, const Decisions& start, int most,
                                      const FusionWalkOptions& options) {
  Space space;
  for (const Dimension& edge : edges)
    if (edge.options.size() > 1) space.dimensions.push_back(edge);
  if (space.dimensions.empty()) return {};
  return Walk(lane, model, base, std::move(space), options).run(start, most);
}

}  // namespace hone::tune
