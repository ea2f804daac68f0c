#include "tune/program/tune_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "graph/decision_family.h"
#include "graph/operation_key.h"
#include "graph/packed_weights.h"
#include "graph/program_option.h"
#include "tune/kernel/kernel_moves.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kQuickRunNs = 20e6;  // of a program whose steps are compared on other inputs

constexpr int kSecondLook = 4;      // times the effort of a trial, at most
constexpr double kUsualGain = 1.3;  // of a search
constexpr int kProfiledRuns = 2;
constexpr int kRunsOfProfile = 8;       // of the program that profiling takes in all, warm-up included
constexpr double kProfileShare = 0.03;  // of the time left, for profiling
constexpr double kLeastOutside = 0.02;
constexpr double kLeastInPlace = 1.003;  // gain of a kernel in the program that is kept with others

bool decides_structure(const Decision& decision) {
  return decision.kind == DecisionKind::Passes || decision.kind == DecisionKind::Layout ||
         decision.kind == DecisionKind::Rewrite;
}

// A duel runs programs again and again, and does not see what threads that wait actively gain after a pause
// (docs/decisions/0049-active-waiting.md), so that they are kept where it shows no loss.
constexpr double kLevel = 0.99, kLevelLow = 0.97;
bool only_waits_actively(const Decisions& candidate, const Decisions& best) {
  const Decision active{DecisionKind::Option, kWaitPolicy, "active"};
  return candidate == merged(best, {active});
}

bool about_weights(const Decision& decision) { return decision.kind == DecisionKind::Weights; }

Decisions structure_of(Decisions decisions) {
  std::erase_if(decisions, [](const Decision& d) { return !decides_structure(d); });
  return decisions;
}

// It has another form of an operation, another library, or other fusions, whose loops may treat NaN in another way.
bool computes_otherwise(const Decisions& candidate, const Decisions& best) {
  return std::any_of(candidate.begin(), candidate.end(), [&](const Decision& d) {
    return (d.kind == DecisionKind::Rewrite || d.kind == DecisionKind::Library || d.kind == DecisionKind::Fusion) &&
           std::find(best.begin(), best.end(), d) == best.end();
  });
}

}  // namespace

TuneState::TuneState(Measurer& measurer, const TuneOptions& tune_options)
    : options(tune_options),
      run{measurer, tune_options.on_progress},
      rng(tune_options.seed),
      confirmation_s(std::clamp(0.12 * tune_options.budget_s, 1.0, 20.0)) {}

double TuneState::duel_s() const {
  return compile_s() + std::max(runs_of_duel_s(trial_rounds()), run.default_run.trial.budget_ms / 2e3);
}

double TuneState::compile_s() const {
  const Measurement& m = run.default_run.measurement;
  return std::max(m.compile_ms, m.baseline_compile_ms) / 1e3;
}

// Two sides; the outputs are compared and both sides warmed up in one further run of each.
double TuneState::runs_of_duel_s(int rounds) const { return 2 * (rounds + 1) * run_s(); }

int TuneState::trial_rounds() const {
  int rounds = run.default_run.trial.min_rounds;
  while (rounds > 1 && compile_s() + runs_of_duel_s(rounds) > left()) --rounds;
  return rounds;
}

bool TuneState::try_step(const std::string& what, const Decisions& candidate) {
  if (left() <= 0 || candidate == best || !tried_.insert(to_text(best) + " | " + to_text(candidate)).second)
    return false;
  say(what);
  Duel trial = run.default_run.trial;
  trial.min_rounds = trial_rounds();
  Step step{what, run.measurer.measure_program(candidate, best, trial), false};
  Measurement& m = step.measurement;
  if (m.ok() && m.ratio > options.min_gain && m.ratio_low <= 1 && left() > 0) {  // promising, not sure: look again
    Duel longer = trial;
    // Of the time left at most the share that this gain has in what searches find: a certain hundredth is not worth a tenth of it.
    const double worth_ms = 1e3 * left() * std::log(m.ratio) / std::log(kUsualGain);
    longer.budget_ms = std::clamp(worth_ms, trial.budget_ms, kSecondLook * trial.budget_ms);
    longer.max_rounds *= kSecondLook;
    longer.limit_s += kSecondLook * trial.budget_ms / 1e3;
    m = run.measurer.measure_program(candidate, best, longer);
  }
  bool faster = m.ok() && m.ratio_low > 1 && m.ratio > options.min_gain;
  if (faster && computes_otherwise(candidate, best)) m = on_other_inputs(candidate, m);
  faster = faster && m.ok();
  const bool level = m.ok() && !faster && m.ratio > kLevel && m.ratio_low > kLevelLow && m.ratio_high >= 1 &&
                     only_waits_actively(candidate, best);
  step.kept = faster || level;
  run.result.steps.push_back(step);
  if (!step.kept) return false;
  if (level) {  // it takes the place of the same program without, if that is to be confirmed
    for (auto& found : run.found)
      if (found.decisions == best) found.decisions = candidate;
  } else {
    run.gain *= m.ratio;
    run.found.push_back({candidate, run.gain});
  }
  best = candidate;
  say(what);
  return true;
}

Measurement TuneState::on_other_inputs(const Decisions& candidate, const Measurement& measured) {
  if (!measured.ok() || measured.baseline_ns >= kQuickRunNs || alike_.contains(to_text(candidate))) return measured;
  Measurement others = verify_on_other_inputs(run.measurer, candidate, measured);
  if (!others.ok()) return others;
  alike_.insert(to_text(candidate));
  return measured;
}

bool TuneState::adopt_group(const Group& group) {
  if (group.decisions.empty()) return false;
  const auto weights = std::count_if(group.decisions.begin(), group.decisions.end(), about_weights);
  const bool single = group.decisions.size() == 1 || std::ssize(group.decisions) == weights + 1;
  const std::string name = single        ? in_words(group.decisions.back())
                           : group.whole ? group.what
                                         : "part of " + group.what;
  if (try_step(name, merged(best, group.decisions))) return true;
  if (single) {
    refused_.insert(to_text(group.decisions));
    return false;
  }
  split(group);
  return false;
}

void TuneState::split(const Group& group) {
  auto middle = group.decisions.begin() + static_cast<std::ptrdiff_t>((group.decisions.size() + 1) / 2);
  if (group.with_weights) {  // weights come before what they are for
    const auto begin = group.decisions.begin();
    auto earlier = middle;
    while (earlier != begin && about_weights(*std::prev(earlier))) --earlier;
    if (earlier != begin) middle = earlier;
    while (about_weights(*std::prev(middle))) ++middle;
  }
  Group part = group;
  part.whole = false;
  part.share /= 2;
  part.decisions.assign(group.decisions.begin(), middle);
  parts.push_back(part);
  part.decisions.assign(middle, group.decisions.end());
  parts.push_back(std::move(part));
}

bool TuneState::adopt_kernels(const Group& group) {
  std::vector<const Kernel*> kernels;
  for (const Decision& d : group.decisions)
    for (const Kernel& kernel : lowered.kernels)
      if (kernel.dimension.kind == d.kind && kernel.dimension.key == d.key) kernels.push_back(&kernel);
  if (kernels.size() != group.decisions.size() || kernels.size() < 2 || !in_place()) return adopt_group(group);
  if (left() <= 0) return false;
  say(group.what);
  const Decisions candidate = merged(best, group.decisions);
  const InPlaceDuel found = run.measurer.measure_in_place(candidate, best, kernels, run.default_run.trial);
  if (!found.program.ok()) {
    run.result.steps.push_back({group.what, found.program, false});
    split(group);
    return false;
  }
  Decisions faster;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Measurement& m = found.kernels[i];
    if (m.ok()) report_of(kernels[i]->fingerprint)->gain_in_place = m.ratio;
    if (!m.ok() || m.ratio > kLeastInPlace)
      faster.push_back(group.decisions[i]);
    else
      refused_.insert(to_text(Decisions{group.decisions[i]}));
  }
  const bool all = faster.size() == group.decisions.size();
  const bool sure = all && found.program.ratio_low > 1 && found.program.ratio > options.min_gain;
  run.result.steps.push_back({group.what, found.program, sure});
  if (!sure) return !faster.empty() && try_step(fmt::format("{} tuned kernels", faster.size()), merged(best, faster));
  best = candidate;
  run.gain *= found.program.ratio;
  run.found.push_back({best, run.gain});
  return true;
}

bool TuneState::begun(const std::string& experiment) const {
  const auto found = begun_.find(experiment);
  return found != begun_.end() && found->second == to_text(best);
}

// ---- lowering

std::optional<Lowered> TuneState::try_lower(const Decisions& decisions, bool want_fusion) const {
  try {
    return run.measurer.lower(decisions, want_fusion);
  } catch (const Error& failed) {
    spdlog::warn("{} cannot be lowered: {}", to_text(decisions), failed.what());
    return std::nullopt;
  }
}

void TuneState::lower_default() {
  say("lowering");
  lowered = run.measurer.lower({}, false);
  measured_programs.insert(lowered.fingerprint);
  list_dimensions();
  profile();
}

void TuneState::list_dimensions() {
  dimensions = by_promise(lowered.dimensions);
  std::erase_if(dimensions, [&](const Dimension& d) { return !options.decides(d.kind); });
  if (!options.packing)
    for (Dimension& d : dimensions)
      std::erase_if(d.options, [&](const std::string& o) { return packs_weights({d.kind, d.key, o}); });
  list_operations();
}

// Convolutions with declared weights come twice: where these are constants, they are transformed before the program runs.
void TuneState::list_operations() {
  operations.clear();
  for (const Dimension& d : dimensions) {
    if (!is_alone(d) || !options.operations) continue;
    operations.push_back(operation_alone(d, {}));
    if (!d.weights.empty() && belongs_to(FamilyId::DenseConvolution, d.kind, d.key))
      operations.push_back(operation_alone(d, as_constants(d.weights)));
  }
  std::erase_if(dimensions, is_alone);
}

void TuneState::refresh() {
  const Decisions now = without_kernels(best);
  if (now == lowered_under_) return;
  const bool other_dimensions = structure_of(now) != structure_of(std::exchange(lowered_under_, now));
  const std::optional<Lowered> found = try_lower(now, false);
  if (!found || found->fingerprint == lowered.fingerprint) return;
  lowered = *found;
  measured_programs.insert(lowered.fingerprint);
  if (other_dimensions) list_dimensions();
  profile();
}

// ---- shares

void TuneState::profile() {
  const std::vector<double> estimated = kernel_shares(lowered.kernels);
  std::map<std::string, double> times;
  if (kRunsOfProfile * run_s() < kProfileShare * left()) times = run.measurer.instruction_times(best, kProfiledRuns);
  double total = 0;
  for (const auto& [name, ns] : times) total += ns;
  std::map<std::string, double> earlier = std::exchange(kernel_share_, {});
  double libraries = 0, dots = 0;
  for (size_t i = 0; i < lowered.kernels.size(); ++i) {
    const Kernel& kernel = lowered.kernels[i];
    double ns = 0;
    for (const std::string& name : kernel.instructions)
      if (const auto found = times.find(name); found != times.end()) ns += found->second;
    const auto before = earlier.find(kernel.fingerprint);
    const double share = ns > 0 ? ns / total : before != earlier.end() ? before->second : estimated[i];
    kernel_share_[kernel.fingerprint] = std::min(1.0, share);
    if (kernel.kind != "fusion") libraries += share;
    if (kernel.kind == "dot") dots += share;
  }
  of_weights_ = share_of_instructions(lowered.of_weights, times, total);
  double calls = 0;  // of libraries that rewrites call
  for (const auto& [name, ns] : times)
    if (name.starts_with("custom-call")) calls += ns / total;
  share_operations(libraries - dots, libraries + calls);
  outside_libraries_ = std::clamp(1 - libraries, kLeastOutside, 1.0);
  dots_ = std::min(dots, 1 - kLeastOutside);
  dimensions_of_.clear();
  for (const Dimension& d : dimensions) ++dimensions_of_[d.kind];
}

// Without times, of the kernels among them, whose shares are known or estimated.
double TuneState::share_of_instructions(const std::vector<std::string>& names,
                                        const std::map<std::string, double>& times, double total) const {
  double share = 0;
  if (!times.empty()) {
    for (const std::string& name : names)
      if (const auto found = times.find(name); found != times.end()) share += found->second / total;
    return share;
  }
  const std::set<std::string> among(names.begin(), names.end());
  for (const Kernel& kernel : lowered.kernels) {
    const auto instructions = static_cast<double>(kernel.instructions.size());
    const auto found = std::count_if(kernel.instructions.begin(), kernel.instructions.end(),
                                     [&](const std::string& name) { return among.contains(name); });
    if (found > 0) share += share_of(kernel) * static_cast<double>(found) / instructions;
  }
  return std::min(1.0, share);
}

// By arithmetic. Of half-precision dots most time goes into converting their operands, which fusions do. A dot of f32 takes as long
// as reading its matrix or its arithmetic does, in a library or, where XLA compiles it, in a fusion. Convolutions of one position
// are dots for XLA: where there are some, all of f32 have their part of the time in libraries.
void TuneState::share_operations(double convolutions, double libraries) {
  constexpr double kBytesPerSecond = 17e9, kFlopsPerSecond = 100e9;
  std::map<FamilyId, double> flops;
  bool positions = false;
  for (const Kernel& op : operations) {
    if (!op.under.empty()) continue;
    const auto sizes = operation_sizes(op.dimension.key);
    positions |= sizes && sizes->convolution && sizes->positions() == 1;
    flops[family_of(op.dimension)->id] += op.dimension.weight;
  }
  const double of_convolutions = flops[FamilyId::DenseConvolution] + (positions ? flops[FamilyId::FloatDot] : 0);
  for (const Kernel& op : operations) {
    const FamilyId family = family_of(op.dimension)->id;
    double share = 0;
    if (family == FamilyId::HalfDot)
      share = (1 - convolutions) * op.dimension.weight / flops[family];
    else if (family == FamilyId::DenseConvolution && of_convolutions > 0)
      share = (positions ? libraries : convolutions) * op.dimension.weight / of_convolutions;
    else if (const std::optional<OperationSizes> sizes = operation_sizes(op.dimension.key))
      share = std::max(op.count * sizes->right_elements * sizes->right_bytes / kBytesPerSecond,
                       op.dimension.weight / kFlopsPerSecond) /
              run_s();
    kernel_share_[op.fingerprint] = std::min(1.0, share);
  }
}

double TuneState::share_of(const Kernel& kernel) const {
  const auto found = kernel_share_.find(kernel.fingerprint);
  return found == kernel_share_.end() ? 0 : found->second;
}

double TuneState::share_of(const Dimension& dimension) const {
  for (const Kernel& kernel : lowered.kernels)
    if (kernel.dimension.kind == dimension.kind && kernel.dimension.key == dimension.key) return share_of(kernel);
  if (is_broad(dimension)) return share_of_broad(dimension);
  const auto count = dimensions_of_.find(dimension.kind);
  const double each = 1.0 / (count == dimensions_of_.end() ? 1 : count->second);
  if (dimension.kind == DecisionKind::Weights) return each;  // of a dot's operand, or of what reads it
  const bool convolution = dimension.kind == DecisionKind::Rewrite &&
                           dimension.key.starts_with(hone::family(FamilyId::DenseConvolution).prefix);
  return convolution ? 1 - dots_ : outside_libraries_ * each;
}

// One library for all operations changes what libraries compute, also with a library that no kernel offers by itself. Options
// of the program change the code that XLA generates, and small dots and convolutions are such code, too.
double TuneState::share_of_broad(const Dimension& dimension) const {
  constexpr double kOfGenerated = 0.5;
  if (dimension.kind == DecisionKind::Weights || dimension.key == kIntraOpThreads || dimension.key == kWaitPolicy)
    return 1;
  if (dimension.kind == DecisionKind::Library) return std::max(1 - outside_libraries_, kLeastOutside);
  return outside_libraries_ + kOfGenerated * (1 - outside_libraries_);
}

}  // namespace hone::tune
