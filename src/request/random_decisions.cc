#include "request/random_decisions.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "data/layout_space.h"
#include "search/operation_forms.h"
#include "search/random_fusion.h"
#include "tune/kernel/kernel_moves.h"
#include "tune/session/decision_list.h"

namespace hone::request {

namespace {

constexpr int kTries = 6;          // turns without anything new, in multiples of the ways to draw
constexpr int kMostPasses = 8;     // of one list
constexpr int kKernelSamples = 6;  // tiles among which an option is drawn
constexpr int kMostForms = 64;     // of which `everything` takes one

class Drawing {
 public:
  Drawing(tune::Session& session, int count, uint64_t seed)
      : session_(session), count_(count), seed_(seed), rng_(seed * 1000003 + 17) {
    lowered_ = session.lower({}, /*want_fusion=*/true);
    layouts_ = layout_space_from(session.list_layouts());
    passes_ = session.default_passes();
    forms_ = sample_forms(lowered_.dimensions, count, seed);
  }

  std::vector<Decisions> run(const std::function<bool()>& should_stop) {
    constexpr int kWays = 7;
    std::vector<Decisions> drawn;
    std::set<Decisions> known{{}};
    int idle = 0;
    for (int turn = 0; static_cast<int>(drawn.size()) < count_ && idle < kTries * kWays; ++turn) {
      if (should_stop && should_stop()) break;
      Decisions decisions = draw(turn % kWays, turn / kWays);
      std::sort(decisions.begin(), decisions.end());
      const bool is_new = known.insert(decisions).second;
      idle = is_new ? 0 : idle + 1;
      if (is_new) drawn.push_back(std::move(decisions));
    }
    return drawn;
  }

 private:
  Decisions draw(int way, int round) {
    switch (way) {
      case 0:
        return round < static_cast<int>(forms_.size()) ? forms_[round] : Decisions{};
      case 1:
        return fusion(lowered_.dimensions, round);
      case 2:
        return kernels({});
      case 3:
        return layouts_.space.decisions(random_layouts(layouts_.space, rng_));
      case 4:
        return passes();
      case 5:
        return weights(lowered_.dimensions);
      default:
        return everything(round);
    }
  }

  Decisions fusion(std::vector<Dimension> edges, int round) const {
    std::erase_if(edges, [](const Dimension& d) { return d.kind != DecisionKind::Fusion; });
    return edges.empty() ? Decisions{} : random_fusion(edges, session_.program().program, round + 1, seed_);
  }

  // Options of a random subset of the kernels that the program has under the decisions, which are part of the result.
  Decisions kernels(const Decisions& under) {
    const double share = rng_.uniform();
    Decisions decisions = under;
    const Lowered lowered = under.empty() ? lowered_ : session_.lower(under, /*want_fusion=*/false);
    for (const Kernel& kernel : lowered.kernels) {
      if (kernel.dimension.options.size() < 2 || rng_.uniform() >= share) continue;
      const std::vector<int> options = tune::first_options(kernel.dimension, kKernelSamples, rng_);
      if (!options.empty())
        decisions = tune::with_option(decisions, kernel.dimension, options[rng_.below(std::ssize(options))]);
    }
    return decisions;
  }

  Decisions passes() {
    if (passes_.empty()) return {};
    std::string order;
    for (int64_t n = 1 + rng_.below(kMostPasses); n > 0; --n)
      order += (order.empty() ? "" : ",") + passes_[rng_.below(std::ssize(passes_))];
    return {{DecisionKind::Passes, "order", order}};
  }

  Decisions weights(const std::vector<Dimension>& dimensions) {
    Decisions decisions;
    for (const Dimension& d : dimensions)
      if (d.kind == DecisionKind::Weights && d.key != tune::kAll && d.options.size() > 1 && rng_.below(2) == 0)
        decisions = tune::with_option(decisions, d, static_cast<int>(rng_.below(std::ssize(d.options))));
    return decisions;
  }

  // Passes sometimes, then forms of what they leave, weights, fusion, and options of the kernels that result.
  Decisions everything(int round) {
    Decisions decisions = rng_.below(3) == 0 ? passes() : Decisions{};
    try {
      const Lowered lowered = decisions.empty() ? lowered_ : session_.lower(decisions, /*want_fusion=*/true);
      // The first of sample_forms() are of one family each.
      const std::vector<Decisions> forms =
          sample_forms(lowered.dimensions, std::min(count_ + 8, kMostForms), seed_ + round);
      if (!forms.empty()) decisions = tune::merged(decisions, forms[rng_.below(std::ssize(forms))]);
      decisions = tune::merged(decisions, weights(lowered.dimensions));
      const Lowered formed = session_.lower(decisions, /*want_fusion=*/true);
      decisions = tune::merged(decisions, fusion(formed.dimensions, round));
      return kernels(decisions);
    } catch (const Error&) {  // of lowering
      return decisions;
    }
  }

  tune::Session& session_;
  int count_;
  uint64_t seed_;
  Rng rng_;
  Lowered lowered_;
  LayoutSpace layouts_;
  std::vector<std::string> passes_;
  std::vector<Decisions> forms_;
};

}  // namespace

std::vector<Decisions> random_decisions(tune::Session& session, int count, uint64_t seed,
                                        const std::function<bool()>& should_stop) {
  return count <= 0 ? std::vector<Decisions>{} : Drawing(session, count, seed).run(should_stop);
}

}  // namespace hone::request
