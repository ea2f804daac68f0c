#include "optimize/forms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "cost/program_time.h"
#include "graph/decision_family.h"
#include "tune/session/decision_list.h"

namespace hone::optimize {

namespace {

constexpr int64_t kFormsOfThousand = 6;  // instructions
constexpr double kLeastDots = 0.05;      // of a run: with less a library that is a fifth faster gains 1 %
constexpr double kNever = std::numeric_limits<double>::infinity();

bool is_library_of_program(const Decision& d) { return belongs_to(FamilyId::ProgramLibrary, d.kind, d.key); }

struct Candidate {
  ChosenForm form;
  double weight = 0;
  std::optional<PredictedRun> run;
};

// Whole families, then single operations, whose form may pay off.
std::vector<Candidate> candidates(const Lowered& program, const tune::Calibration& gains) {
  std::map<std::string, double> weights;
  for (const Dimension& d : program.dimensions) weights[d.key] = d.weight;
  std::vector<Candidate> families, single;
  for (const FormGroup& group : candidate_forms(program.dimensions)) {
    const std::string transition = form_transition(group);
    const tune::AcceptanceThreshold& threshold = gains.of(transition);
    if (!threshold.accepts_any()) continue;
    families.push_back({{group.decisions, transition, 0, threshold}, 0, {}});
    if (group.decisions.size() == 1) continue;
    for (const Decision& d : group.decisions) single.push_back({{{d}, transition, 0, threshold}, weights[d.key], {}});
  }
  std::stable_sort(single.begin(), single.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
  families.insert(families.end(), single.begin(), single.end());
  const auto most = static_cast<size_t>(most_forms(program.instructions));
  if (families.size() > most) families.resize(most);
  return families;
}

}  // namespace

std::vector<FormGroup> candidate_forms(const std::vector<Dimension>& dimensions) {
  std::vector<Dimension> predicted = dimensions;
  std::erase_if(predicted, [](const Dimension& d) {
    const DecisionFamily* family = family_of(d);
    return family != nullptr && (family->alone || *family->transition);
  });
  return form_groups(predicted);
}

std::string form_transition(const FormGroup& group) { return group.family + " " + group.value; }

PredictedRun predicted_run(tune::FusionModel& model, const Lowered& lowered, const features::Cpu& cpu) {
  PredictedRun run{.ns = tune::kOutsideKernelsNs};
  double dots_ns = 0;
  for (const Kernel& kernel : lowered.kernels) {
    const double ns = kernel.runs * model.kernel_ns(kernel);
    run.ns += ns;
    if (kernel.kind == "dot") dots_ns += ns;
  }
  run.dots = dots_ns / run.ns;
  run.cold_dots = run.dots * cost::cold_share(cost::working_set(lowered), cpu);
  return run;
}

double form_margin(const Decisions& changed, const PredictedRun& before, const PredictedRun& after) {
  if (is_library_of_program(changed.front())) return before.cold_dots;
  return std::log(before.ns / after.ns);
}

std::vector<ChosenForm> libraries_to_try(const std::vector<Dimension>& dimensions, const tune::Calibration& gains,
                                         const PredictProgram& predict) {
  std::vector<ChosenForm> libraries;
  for (const FormGroup& group : candidate_forms(dimensions)) {
    const std::string transition = form_transition(group);
    const tune::AcceptanceThreshold& threshold = gains.of_any_class(transition);
    if (is_library_of_program(group.decisions.front()) && threshold.accepts_any())
      libraries.push_back({group.decisions, transition, 0, threshold});
  }
  const std::optional<PredictedRun> plain = libraries.empty() ? std::nullopt : predict({});
  if (!plain || plain->dots < kLeastDots) return {};
  for (ChosenForm& library : libraries) library.margin = plain->cold_dots;
  return libraries;
}

int most_forms(int64_t instructions) {
  return static_cast<int>(std::clamp<int64_t>(kFormsOfThousand * 1000 / std::max<int64_t>(instructions, 1), 4, 24));
}

std::vector<ChosenForm> choose_forms(const Lowered& program, const tune::Calibration& gains,
                                     const PredictProgram& predict) {
  std::vector<Candidate> open = candidates(program, gains);
  const std::optional<PredictedRun> plain = open.empty() ? std::nullopt : predict({});
  if (!plain) return {};
  // What is taken of each transition, with its run: forms of one kind change the same kernels more often than others do.
  std::map<std::string, std::pair<Decisions, PredictedRun>> taken;
  const auto judge = [&](Candidate& c) {
    const auto& [decisions, before] = taken.try_emplace(c.form.transition, Decisions{}, *plain).first->second;
    // Of a library the run before it tells all.
    c.run =
        is_library_of_program(c.form.decisions.front()) ? plain : predict(tune::merged(decisions, c.form.decisions));
    c.form.margin = c.run ? form_margin(c.form.decisions, before, *c.run) : -kNever;
  };
  for (Candidate& c : open) judge(c);
  std::erase_if(open, [](const Candidate& c) { return !c.form.threshold.accepts(c.form.margin); });
  std::stable_sort(open.begin(), open.end(), [](auto& a, auto& b) { return a.form.margin > b.form.margin; });
  std::vector<ChosenForm> chosen;
  std::set<std::string> decided;
  for (Candidate& c : open) {
    const auto is_decided = [&](const Decision& d) { return decided.contains(d.key); };
    if (std::any_of(c.form.decisions.begin(), c.form.decisions.end(), is_decided)) continue;
    auto& [decisions, run] = taken.at(c.form.transition);
    if (!decisions.empty()) judge(c);
    if (!c.form.threshold.accepts(c.form.margin)) continue;
    decisions = tune::merged(decisions, c.form.decisions);
    run = *c.run;
    for (const Decision& d : c.form.decisions) decided.insert(d.key);
    chosen.push_back(std::move(c.form));
  }
  return chosen;
}

}  // namespace hone::optimize
