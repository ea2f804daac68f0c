#include "tune/session/timeline.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr size_t kSpelledOut = 2;  // differences named one by one

Decisions without(const Decisions& all, const Decisions& less) {
  Decisions rest;
  for (const Decision& d : all)
    if (std::find(less.begin(), less.end(), d) == less.end()) rest.push_back(d);
  return rest;
}

bool decides(const Decisions& decisions, const Decision& subject) {
  return std::any_of(decisions.begin(), decisions.end(),
                     [&](const Decision& d) { return d.kind == subject.kind && d.key == subject.key; });
}

std::string summary(const Decisions& decisions) {
  if (decisions.size() <= kSpelledOut) {
    std::string text;
    for (const Decision& d : decisions) text += (text.empty() ? "" : ", ") + in_words(d);
    return text;
  }
  std::map<std::string, int> kinds;
  for (const Decision& d : decisions) ++kinds[decision_kind_name(d.kind)];
  std::string text;
  for (const auto& [kind, count] : kinds) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  return fmt::format("{} decisions ({})", decisions.size(), text);
}

void take(Trial& trial, const Measurement& m) {
  trial.outcome = m.outcome;
  trial.ratio = m.ratio;
  trial.ratio_low = m.ratio_low;
  trial.ratio_high = m.ratio_high;
  trial.candidate_ns = m.candidate_ns;
  trial.compile_ms = m.compile_ms;
  trial.rounds = m.rounds;
}

}  // namespace

std::string difference_in_words(const Decisions& candidate, const Decisions& baseline) {
  if (candidate.empty() && baseline.empty()) return "default XLA";
  const Decisions added = without(candidate, baseline);
  Decisions dropped = without(baseline, candidate);
  std::erase_if(dropped, [&](const Decision& d) { return decides(candidate, d); });  // changed, not dropped
  if (added.empty() && dropped.empty()) return "the same again";
  std::string text = summary(added);
  if (!dropped.empty()) text += (text.empty() ? "without " : ", without ") + summary(dropped);
  return text;
}

Lowered Timeline::lower(const Decisions& decisions, bool want_fusion) {
  Trial trial{.scope = "lower",
              .what = decisions.empty() ? "default XLA" : difference_in_words(decisions, {}),
              .start_s = now_s()};
  const auto note = [&](Outcome outcome) {
    trial.outcome = outcome;
    trial.end_s = now_s();
    trials_.push_back(trial);
  };
  try {
    Lowered lowered = measurer_.lower(decisions, want_fusion);
    note(Outcome::Ok);
    return lowered;
  } catch (const Error&) {
    note(Outcome::CompileFailed);
    throw;
  }
}

Measurement Timeline::measure_kernel(const Kernel& kernel, const std::string& value, const Duel& duel) {
  Trial trial{.scope = "kernel", .kernel = kernel.fingerprint, .what = value, .start_s = now_s()};
  const Measurement m = measurer_.measure_kernel(kernel, value, duel);
  take(trial, m);
  trial.end_s = now_s();
  trials_.push_back(std::move(trial));
  return m;
}

template <class Measure>
void Timeline::add_program(const Decisions& candidate, const Decisions& baseline, Measure&& measure) {
  Trial trial{.scope = "program", .what = difference_in_words(candidate, baseline), .start_s = now_s()};
  if (!baseline.empty()) {
    const auto measured = candidates_.find(to_text(baseline));
    trial.against = measured == candidates_.end() ? Trial::kUnknown : measured->second;
  }
  trial.confirms = confirming_;
  take(trial, measure());
  trial.end_s = now_s();
  if (!candidate.empty()) candidates_[to_text(candidate)] = static_cast<int>(trials_.size());
  trials_.push_back(std::move(trial));
}

Measurement Timeline::measure_program(const Decisions& candidate, const Decisions& baseline, const Duel& duel) {
  Measurement m;
  add_program(candidate, baseline, [&] { return m = measurer_.measure_program(candidate, baseline, duel); });
  return m;
}

InPlaceDuel Timeline::measure_in_place(const Decisions& candidate, const Decisions& baseline,
                                       const std::vector<const Kernel*>& kernels, const Duel& duel) {
  InPlaceDuel found;
  add_program(candidate, baseline, [&] {
    found = measurer_.measure_in_place(candidate, baseline, kernels, duel);
    return found.program;
  });
  trials_.back().in_place = true;
  for (size_t i = 0; i < found.kernels.size(); ++i) {
    Trial trial{.scope = "kernel",
                .kernel = kernels[i]->fingerprint,
                .what = value_of(candidate, *kernels[i]),
                .start_s = trials_.back().end_s,
                .end_s = trials_.back().end_s};
    take(trial, found.kernels[i]);
    trials_.push_back(std::move(trial));
  }
  return found;
}

std::vector<double> gains_over_default(const std::vector<Trial>& trials) {
  std::vector<double> gains(trials.size(), 0);
  for (size_t i = 0; i < trials.size(); ++i) {
    const Trial& t = trials[i];
    if (t.scope != "program" || t.outcome != Outcome::Ok || t.against == Trial::kUnknown) continue;
    gains[i] = t.ratio * (t.against == Trial::kDefault ? 1 : gains[t.against]);
  }
  return gains;
}

std::vector<bool> adopted_trials(const std::vector<Trial>& trials) {
  std::vector<bool> adopted(trials.size(), false);
  for (const Trial& t : trials)
    if (t.against >= 0) adopted[t.against] = true;
  return adopted;
}

void Timeline::begin_confirmation() {
  confirming_ = true;
  measurer_.begin_confirmation();
}

}  // namespace hone::tune
