// Orders built pass by pass, where each pass is chosen in the state after the previous ones: policies and greedy search. The
// strategies of src/search change whole orders instead.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/rng.h"
#include "passorder/learned_policy.h"
#include "passorder/order_candidates.h"
#include "passorder/order_follower.h"
#include "passorder/pass_observation.h"

namespace hone::passorder {

// One number per pass in a state where the passes in `taken` were taken before; larger is better.
using PassScores = std::function<std::vector<float>(const Ordered& place, const std::vector<bool>& taken)>;

enum class Draw : int8_t {
  Best,       // the best score
  Chances,    // sampled with probability exp(score)
  MostlyBest  // the best score, or any pass with probability 0.1: for scores that are not log-probabilities
};

// The passes to try in a state: the best `width` by score, or with `draws` as many sampled without replacement with
// probabilities exp(score) (Gumbel noise added to the scores; Kool et al. 2019).
struct PassGuide {
  PassScores scores;  // empty: all passes
  int64_t width = 8;
  bool draws = false;
};

class PassWalks {
 public:
  // `reached` is called for every changed state. The session must outlive the walks.
  PassWalks(PassSession& session, std::string program, std::vector<std::string> passes,
            std::function<void(Ordered&)> reached, std::function<bool()> should_stop);

  // Runs at most `length` passes from `start` and returns the final state. A pass is taken once in a state, so a walk
  // cannot loop forever; it ends early in a state where every pass has been taken.
  Ordered walk(Ordered start, const PassScores& scores, Draw draw, int64_t length, Rng& rng);

  // Tries every pass in a state and moves to the state of least `value` not visited on this walk, even if that is no
  // improvement, so that it crosses plateaus; ties are broken uniformly. At most `moves` moves. With a guide it tries only
  // the passes that the guide proposes.
  Ordered greedy(Ordered start, const std::function<double(const PassState&)>& value, int64_t moves, Rng& rng,
                 const PassGuide& guide = {});

  int64_t applications() const { return applications_; }  // passes run so far, known ones included

 private:
  PassStep take(const Ordered& place, size_t pass);
  std::vector<size_t> proposed(const Ordered& place, const PassGuide& guide, Rng& rng) const;
  std::vector<Ordered> least_of(const Ordered& place, const std::vector<size_t>& passes,
                                const std::function<double(const PassState&)>& value,
                                const std::unordered_set<std::string>& seen);

  PassSession& session_;
  std::string program_;
  std::vector<std::string> passes_;
  std::function<void(Ordered&)> reached_;
  std::function<bool()> should_stop_;
  int64_t applications_ = 0;
};

// Equal scores for all passes: walks sample uniformly.
PassScores even_scores(size_t passes);

// A trained policy applied to any program. Scores are cached by state.
class OrderPolicy {
 public:
  // Throws Error (where = path) if the file is not a policy, or has passes that this XLA does not have.
  OrderPolicy(const std::string& path, PassSession& session);
  const std::vector<std::string>& passes() const { return passes_; }
  Draw draw() const;  // how to sample
  // Scores for one loaded program. The policy must outlive them.
  PassScores scores(const std::string& program);

 private:
  std::vector<size_t> numbers(const PassHistory& passes) const;

  PassSession& session_;
  std::unique_ptr<LearnedPolicy> policy_;
  std::optional<FollowedOrder> order_;
  std::vector<std::string> passes_;
  PassView view_;                                              // the observations it was trained on
  std::unordered_map<std::string, std::vector<float>> known_;  // by fingerprint and passes taken
};

// The policy in the folder `models`, or the shipped one (cost/shipped.h); empty if there is none.
std::string shipped_order_policy(const std::string& models = "");

}  // namespace hone::passorder
