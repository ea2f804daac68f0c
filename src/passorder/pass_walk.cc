#include "passorder/pass_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "cost/shipped.h"
#include "passorder/pass_env_json.h"

namespace hone::passorder {
namespace {

constexpr double kAnyPass = 0.1;  // probability in Draw::MostlyBest

// The pass to take among those not taken yet, of which there must be one.
size_t chosen(const std::vector<float>& scores, const std::vector<bool>& taken, Draw draw, Rng& rng) {
  std::vector<size_t> open;
  for (size_t pass = 0; pass < taken.size(); ++pass)
    if (!taken[pass]) open.push_back(pass);
  const auto better = [&](size_t a, size_t b) { return scores[a] < scores[b]; };
  const size_t best = *std::max_element(open.begin(), open.end(), better);
  if (draw == Draw::Best) return best;
  if (draw == Draw::MostlyBest)
    return rng.uniform() < kAnyPass ? open[static_cast<size_t>(rng.below(static_cast<int64_t>(open.size())))] : best;
  double total = 0;
  for (const size_t pass : open) total += std::exp(static_cast<double>(scores[pass] - scores[best]));
  double left = rng.uniform() * total;
  for (const size_t pass : open) {
    left -= std::exp(static_cast<double>(scores[pass] - scores[best]));
    if (left < 0) return pass;
  }
  return open.back();
}

}  // namespace

PassWalks::PassWalks(PassSession& session, std::string program, std::vector<std::string> passes,
                     std::function<void(Ordered&)> reached, std::function<bool()> should_stop)
    : session_(session),
      program_(std::move(program)),
      passes_(std::move(passes)),
      reached_(std::move(reached)),
      should_stop_(std::move(should_stop)) {}

PassStep PassWalks::take(const Ordered& place, size_t pass) {
  ++applications_;
  return session_.step(program_, place.state, place.passes, passes_[pass]);
}

Ordered PassWalks::walk(Ordered start, const PassScores& scores, Draw draw, int64_t length, Rng& rng) {
  Ordered place = std::move(start);
  std::unordered_map<std::string, std::vector<bool>> taken;  // passes, by fingerprint
  for (int64_t step = 0; step < length && !should_stop_(); ++step) {
    std::vector<bool>& here = taken[place.state->fingerprint];
    if (here.empty()) here.resize(passes_.size());
    if (std::all_of(here.begin(), here.end(), [](bool t) { return t; })) break;
    const size_t pass = chosen(scores(place, here), here, draw, rng);
    here[pass] = true;
    const PassStep result = take(place, pass);
    if (!result.changed) continue;
    place.state = result.state;
    place.passes.push_back(passes_[pass]);
    place.duel = {};
    reached_(place);
  }
  return place;
}

std::vector<size_t> PassWalks::proposed(const Ordered& place, const PassGuide& guide, Rng& rng) const {
  std::vector<size_t> passes(passes_.size());
  std::iota(passes.begin(), passes.end(), size_t{0});
  if (!guide.scores) return passes;
  std::vector<float> scores = guide.scores(place, std::vector<bool>(passes_.size()));
  if (guide.draws)
    for (float& score : scores) score -= static_cast<float>(std::log(-std::log(rng.uniform() + 1e-12)));
  std::stable_sort(passes.begin(), passes.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  passes.resize(std::min(passes.size(), static_cast<size_t>(guide.width)));
  return passes;
}

std::vector<Ordered> PassWalks::least_of(const Ordered& place, const std::vector<size_t>& passes,
                                         const std::function<double(const PassState&)>& value,
                                         const std::unordered_set<std::string>& seen) {
  std::vector<Ordered> equal;  // distinct states
  double least = std::numeric_limits<double>::infinity();
  for (const size_t pass : passes) {
    if (should_stop_()) break;
    const PassStep result = take(place, pass);
    if (!result.changed || seen.contains(result.state->fingerprint)) continue;
    const double now = value(*result.state);
    if (now > least) continue;
    if (now < least) equal.clear();
    least = now;
    const bool known = std::any_of(equal.begin(), equal.end(), [&](const Ordered& other) {
      return other.state->fingerprint == result.state->fingerprint;
    });
    if (known) continue;
    Ordered next{place.passes, result.state, {}};
    next.passes.push_back(passes_[pass]);
    equal.push_back(std::move(next));
  }
  return equal;
}

Ordered PassWalks::greedy(Ordered start, const std::function<double(const PassState&)>& value, int64_t moves, Rng& rng,
                          const PassGuide& guide) {
  Ordered place = std::move(start);
  std::unordered_set<std::string> seen = {place.state->fingerprint};
  for (int64_t move = 0; move < moves && !should_stop_(); ++move) {
    std::vector<Ordered> equal = least_of(place, proposed(place, guide, rng), value, seen);
    if (equal.empty()) break;
    place = std::move(equal[static_cast<size_t>(rng.below(static_cast<int64_t>(equal.size())))]);
    seen.insert(place.state->fingerprint);
    reached_(place);
  }
  return place;
}

PassScores even_scores(size_t passes) {
  return [passes](const Ordered&, const std::vector<bool>&) { return std::vector<float>(passes); };
}

OrderPolicy::OrderPolicy(const std::string& path, PassSession& session)
    : session_(session), policy_(load_policy(path)) {
  const PassEnvOptions made = pass_env_options_from_json(policy_->environment());
  passes_ = made.passes;
  view_ = view_of(made);
  if (passes_.empty()) throw Error("the policy does not list its passes", path);
  if (static_cast<int64_t>(passes_.size()) != policy_->spec().actions)
    throw Error("the policy lists another number of passes than it scores", path);
  for (const std::string& pass : passes_) session.check_pass(pass);
  try {
    if (!policy_->order().is_null()) order_ = followed_order_from_json(policy_->order(), passes_);
  } catch (const Error& e) {
    throw Error(e.what(), path, e.hint());
  }
}

Draw OrderPolicy::draw() const { return !order_ && policy_->agent() == "dqn" ? Draw::MostlyBest : Draw::Chances; }

PassScores OrderPolicy::scores(const std::string& program) {
  return [this, program](const Ordered& place, const std::vector<bool>& taken) {
    std::string key = place.state->fingerprint;
    if (view_.action_history || order_)
      for (const bool was : taken) key += was ? '1' : '0';
    if (view_.change_history || order_)
      for (const std::string& pass : place.passes) key += ' ' + pass;
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const Observation seen =
        observe(session_, program, *session_.initial(program), *place.state, place.passes, taken, view_);
    const std::vector<float> scores = policy_->scores({&seen, 1});
    return known_[key] = order_ ? follow(*order_, scores, numbers(place.passes), taken) : scores;
  };
}

// Of the passes that are actions of the policy: XLA's own order is none.
std::vector<size_t> OrderPolicy::numbers(const PassHistory& passes) const {
  std::vector<size_t> numbers;
  for (const std::string& pass : passes)
    if (const auto found = view_.actions.find(pass); found != view_.actions.end()) numbers.push_back(found->second);
  return numbers;
}

std::string shipped_order_policy(const std::string& models) {
  const std::string folder = cost::shipped_model("order", models);
  return folder.empty() ? "" : folder + "/policy.safetensors";
}

}  // namespace hone::passorder
