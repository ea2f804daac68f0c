// Orders made pass by pass, each chosen by what the ones before have made of the program: policies and greedy search. The
// strategies of src/search change whole orders instead.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/rng.h"
#include "passorder/learned_policy.h"
#include "passorder/order_candidates.h"
#include "passorder/pass_observation.h"

namespace hone::passorder {

// One number per pass in a state where those of `taken` were taken before; the larger the better.
using PassScores = std::function<std::vector<float>(const Ordered& place, const std::vector<bool>& taken)>;

enum class Draw : int8_t {
  Best,       // the best score
  Chances,    // with chance exp(score)
  MostlyBest  // the best score, one time in ten any pass: for scores that are no chances
};

// The passes worth trying in a state: the best `width` by score, or with `draws` as many drawn without replacement, each
// with chances exp(score) (Gumbel noise added to the scores; Kool et al. 2019).
struct PassGuide {
  PassScores scores;  // empty: all passes
  int64_t width = 8;
  bool draws = false;
};

class PassWalks {
 public:
  // `reached` hears of every changed program on the way. The session must outlive the walks.
  PassWalks(PassSession& session, std::string program, std::vector<std::string> passes,
            std::function<void(Ordered&)> reached, std::function<bool()> should_stop);

  // Runs at most `length` passes from `start` and returns where that led. A pass is taken once in a state, so a walk
  // neither stands still nor goes in circles for ever; it ends early where every pass has been taken.
  Ordered walk(Ordered start, const PassScores& scores, Draw draw, int64_t length, Rng& rng);

  // Tries every pass in a state and moves to the least `value` not seen on this walk, even if it is no less than the
  // present one, so that it crosses plateaus; equal ones have equal chances. At most `moves` moves. With a guide it tries
  // only the passes that the guide proposes.
  Ordered greedy(Ordered start, const std::function<double(const PassState&)>& value, int64_t moves, Rng& rng,
                 const PassGuide& guide = {});

  int64_t applications() const { return applications_; }  // passes run so far, those known included

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

// All passes alike: walks draw them evenly.
PassScores even_scores(size_t passes);

// A trained policy in front of any program. Scores are remembered by state.
class OrderPolicy {
 public:
  // Throws Error (where = path) when the file is no policy, or one of passes that this XLA does not have.
  OrderPolicy(const std::string& path, PassSession& session);
  const std::vector<std::string>& passes() const { return passes_; }
  Draw draw() const;  // how to sample
  // For one loaded program. The policy must outlive the scores.
  PassScores scores(const std::string& program);

 private:
  PassSession& session_;
  std::unique_ptr<LearnedPolicy> policy_;
  std::vector<std::string> passes_;
  PassView view_;                                              // what it was trained to see
  std::unordered_map<std::string, std::vector<float>> known_;  // by fingerprint and what was taken
};

// The policy in the folder `models`, or the one that comes with the program (cost/shipped.h); empty = there is none.
std::string shipped_order_policy(const std::string& models = "");

}  // namespace hone::passorder
