#include "tune/kernel/calibration.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/stats.h"
#include "base/text.h"
#include "features/columns.h"
#include "features/encoded.h"
#include "features/machine_record.h"
#include "graph/decision_family.h"

namespace hone::tune {

namespace {

using nlohmann::json;

// Shorter kernels do not count: programs spend little time in them, and their gains are half noise, with the largest margins.
constexpr double kLeastNs = 2000;

template <class T>
T field(const json& object, const char* name, const std::string& where) {
  try {
    return object.at(name).get<T>();
  } catch (const json::exception&) {
    throw Error(std::string("the field '") + name + "' is missing or of another type", where,
                "hone optimize --calibrate writes such files");
  }
}

// For each option, whether the tiled emitter is used, read from its features.
std::vector<bool> tiled_options(const KernelView& kernel) {
  const auto& columns = features::tile_columns();
  const auto at = std::find_if(columns.begin(), columns.end(),
                               [](const features::Column& column) { return column.name == "tiled_emitter"; });
  if (at == columns.end()) throw InternalError("there is no feature for tiled options");
  std::vector<bool> tiled;
  for (int64_t option = 0; option < kernel.options(); ++option)
    tiled.push_back(kernel.tiles[option * columns.size() + (at - columns.begin())] > 0);
  return tiled;
}

// Calls see(kernel, margins) for each kernel of the programs that has its default and another option measured.
template <class See>
void rank_kernels(const Dataset& dataset, const std::vector<std::string>& programs, cost::LearnedModel& model,
                  See&& see) {
  int kernels = 0;
  for (int64_t index : Split::kernels_of(dataset, programs)) {
    const KernelView kernel = dataset.kernel(index);
    if (kernel.options() < 2 || kernel.default_option < 0) continue;
    ++kernels;
    see(kernel, predicted_margins(std::string(kernel.kind), model.predict(kernel), tiled_options(kernel),
                                  kernel.default_option, model.predicts_runtime()));
  }
  if (kernels == 0) throw Error("no kernel of these programs has its default and another option measured");
}

// The statistics of the kernels from `first` on.
AcceptanceThreshold tail_of(const std::vector<RankedGain>& kernels, size_t first, double below) {
  AcceptanceThreshold tail;
  tail.from = kernels[first].margin;
  tail.kernels = static_cast<int>(kernels.size() - first);
  tail.seen = static_cast<int>(kernels.size());
  std::vector<double> gains;
  std::set<std::string> programs;
  for (size_t i = first; i < kernels.size(); ++i) {
    gains.push_back(kernels[i].gain);
    programs.insert(kernels[i].program);
    tail.gain += kernels[i].gain / tail.kernels;
  }
  tail.programs = static_cast<int>(programs.size());
  tail.low = quantile(gains, below);
  return tail;
}

Calibration calibration_of(const json& object, const std::string& path) {
  if (!object.is_object()) throw Error("a calibration must be a JSON object", path);
  Calibration calibration;
  calibration.model = field<std::string>(object, "model", path);
  calibration.machine = object.contains("machine") ? field<std::string>(object, "machine", path) : "";
  calibration.kernels = field<int>(object, "kernels", path);
  calibration.programs = field<int>(object, "programs", path);
  if (object.contains("quantile")) calibration.below = field<double>(object, "quantile", path);
  if (field<int>(object, "feature_version", path) != features::kFeatureVersion)
    throw Error("the calibration has another feature version", path, "hone optimize --calibrate writes them again");
  // Versions before 0.2 called them ways.
  const json transitions = field<json>(object, object.contains("ways") ? "ways" : "transitions", path);
  for (const auto& [transition, t] : transitions.items()) {
    AcceptanceThreshold threshold;
    if (!field<json>(t, "from", path).is_null()) threshold.from = field<double>(t, "from", path);
    threshold.gain = field<double>(t, "gain", path);
    threshold.low = field<double>(t, "low", path);
    threshold.kernels = field<int>(t, "kernels", path);
    threshold.programs = field<int>(t, "programs", path);
    threshold.seen = field<int>(t, "seen", path);
    calibration.by_transition[transition] = threshold;
  }
  return calibration;
}

}  // namespace

std::string transition(const std::string& kernel_kind, bool default_tiled, bool option_tiled) {
  if (kernel_kind != "fusion") return kernel_kind;
  return std::string(default_tiled ? "tiled" : "loop") + " to " + (option_tiled ? "tiled" : "loop");
}

std::map<std::string, PredictedMargin> predicted_margins(const std::string& kernel_kind,
                                                         const std::vector<double>& scores,
                                                         const std::vector<bool>& tiled, int default_option,
                                                         bool scores_are_ns) {
  const auto count = static_cast<int>(scores.size());
  if (static_cast<int>(tiled.size()) != count || default_option < 0 || default_option >= count)
    throw InternalError("the sizes of scores and options do not match");
  const double own = scores[default_option];
  std::map<std::string, PredictedMargin> margins;
  for (int i = 0; i < count; ++i) {
    if (i == default_option) continue;
    const double margin = scores_are_ns ? std::log(own / scores[i]) : own - scores[i];
    const auto [best, fresh] =
        margins.try_emplace(transition(kernel_kind, tiled[default_option], tiled[i]), PredictedMargin{i, margin});
    if (!fresh && margin > best->second.margin) best->second = {i, margin};
  }
  return margins;
}

AcceptanceThreshold acceptance_threshold(std::vector<RankedGain> kernels, double below) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.margin < b.margin; });
  AcceptanceThreshold threshold;
  threshold.seen = static_cast<int>(kernels.size());
  for (size_t first = kernels.size(); first-- > 0;) {
    if (first > 0 && kernels[first - 1].margin == kernels[first].margin)
      continue;  // equal margins are accepted or refused together
    const AcceptanceThreshold tail = tail_of(kernels, first, below);
    if (tail.kernels < AcceptanceThreshold::kKernels || tail.programs < AcceptanceThreshold::kPrograms) continue;
    if (!tail.accepts(tail.from)) break;
    threshold = tail;
  }
  return threshold;
}

Thresholds acceptance_thresholds(std::map<std::string, std::vector<RankedGain>> by_transition, double below) {
  Thresholds thresholds;
  for (auto& [transition, gains] : by_transition)
    thresholds[transition] = acceptance_threshold(std::move(gains), below);
  return thresholds;
}

const AcceptanceThreshold& Calibration::of(const std::string& transition) const {
  static const AcceptanceThreshold never;
  const auto known = by_transition.find(transition);
  return known == by_transition.end() ? never : known->second;
}

const AcceptanceThreshold& Calibration::of_any_class(const std::string& transition) const {
  const AcceptanceThreshold& own = of(transition);
  const auto other = elsewhere.find(transition);
  return own.accepts_any() || other == elsewhere.end() ? own : other->second;
}

std::optional<std::string> Calibration::choice(const std::map<std::string, PredictedMargin>& margins) const {
  std::optional<std::string> best;
  for (const auto& [transition, margin] : margins)
    if (of(transition).accepts(margin.margin) && (!best || of(transition).low > of(*best).low)) best = transition;
  return best;
}

json Calibration::to_json() const {
  json transitions = json::object();
  for (const auto& [transition, t] : by_transition)
    transitions[transition] = {{"from", std::isfinite(t.from) ? json(t.from) : json(nullptr)},
                               {"gain", t.gain},
                               {"low", t.low},
                               {"kernels", t.kernels},
                               {"programs", t.programs},
                               {"seen", t.seen}};
  return {
      {"model", model},     {"machine", machine},   {"feature_version", features::kFeatureVersion}, {"quantile", below},
      {"kernels", kernels}, {"programs", programs}, {"transitions", std::move(transitions)}};
}

Calibration Calibration::load(const std::string& path, const std::string& machine, bool or_similar) {
  const json file = json::parse(shallow_json(read_file(path)), nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) throw Error("a calibration must be a JSON object", path);
  if (!file.contains("classes")) return calibration_of(file, path);
  const json classes = field<json>(file, "classes", path);
  if (!classes.is_array() || classes.empty()) throw Error("a calibration without a class of machines", path);
  std::vector<Calibration> all;
  std::vector<std::string> known;
  for (const json& one : classes) {
    all.push_back(calibration_of(one, path));
    known.push_back(all.back().machine);
  }
  Calibration found;
  found.machine = machine;
  found.model = all.back().model;
  for (const std::string& one : or_similar ? features::similar_classes(machine, known) : std::vector{machine}) {
    const auto at = std::find(known.begin(), known.end(), one);
    if (at == known.end()) continue;
    const Calibration& next = all[at - known.begin()];
    if (found.kernels == 0) {
      found = next;
    } else {
      found.add_other_class(next.by_transition);
    }
  }
  return found;
}

void Calibration::add_other_class(const Thresholds& others) {
  for (const auto& [transition, threshold] : others) {
    if (threshold.accepts_any()) elsewhere.try_emplace(transition, threshold);
    const auto [own, is_new] = by_transition.try_emplace(transition, threshold);
    if (!is_new && own->second.seen < AcceptanceThreshold::kKernels && threshold.seen > own->second.seen)
      own->second = threshold;
  }
}

Calibration measure_gains(const Dataset& dataset, const std::vector<std::string>& programs, cost::LearnedModel& model,
                          const std::string& weights_path) {
  std::map<std::string, std::vector<RankedGain>> by_transition;
  std::set<std::string> seen;
  Calibration calibration;
  calibration.model = weights_fingerprint(weights_path);
  rank_kernels(
      dataset, programs, model, [&](const KernelView& kernel, const std::map<std::string, PredictedMargin>& margins) {
        const double default_ns = kernel.runtime_ns[kernel.default_option];
        if (default_ns < kLeastNs) return;
        ++calibration.kernels;
        seen.emplace(kernel.program);
        for (const auto& [transition, margin] : margins)
          by_transition[transition].push_back(
              {std::string(kernel.program), margin.margin, std::log(default_ns / kernel.runtime_ns[margin.option])});
      });
  calibration.programs = static_cast<int>(seen.size());
  calibration.by_transition = acceptance_thresholds(std::move(by_transition));
  return calibration;
}

std::map<std::string, JudgedProgram> judge_gains(const Dataset& dataset, const std::vector<std::string>& programs,
                                                 cost::LearnedModel& model, const Calibration& calibration) {
  std::map<std::string, JudgedProgram> judged;
  rank_kernels(dataset, programs, model,
               [&](const KernelView& kernel, const std::map<std::string, PredictedMargin>& margins) {
                 JudgedProgram& program = judged[std::string(kernel.program)];
                 const std::optional<std::string> transition = calibration.choice(margins);
                 const double default_ns = kernel.runtime_ns[kernel.default_option];
                 const double chosen_ns = transition ? kernel.runtime_ns[margins.at(*transition).option] : default_ns;
                 ++program.kernels;
                 program.changed += transition.has_value();
                 program.default_ns += default_ns;
                 program.chosen_ns += chosen_ns;
                 program.worst = std::min(program.worst, default_ns / chosen_ns);
               });
  return judged;
}

std::string rewrite_transition(const Dimension& operation) {
  const DecisionFamily* family = family_of(operation);
  if (!family || !*family->transition) throw InternalError("no transition of " + operation.key);
  return family->transition;
}

double rewrite_margin(const Dimension& operation) { return std::log(std::max(1.0, operation.weight)); }

std::map<std::string, std::vector<RankedGain>> measure_rewrites(Measurer& measurer, const std::string& program) {
  constexpr Duel kDuel{.min_rounds = 5, .max_rounds = 25, .budget_ms = 400, .precision = 0.01, .limit_s = 120};
  std::vector<Dimension> operations = measurer.lower({}, /*want_fusion=*/false).dimensions;
  std::erase_if(operations, [](const Dimension& d) {
    return d.kind != DecisionKind::Rewrite ||
           std::find(d.options.begin(), d.options.end(), kShifted) == d.options.end();
  });
  Decisions all;
  for (const Dimension& d : operations) all.push_back({d.kind, d.key, kShifted});
  std::sort(all.begin(), all.end());
  std::map<std::string, std::vector<RankedGain>> gains;
  for (const Dimension& d : operations) {
    Decisions others = all;
    std::erase_if(others, [&](const Decision& decision) { return decision.key == d.key; });
    const Measurement m = measurer.measure_program(all, others, kDuel);
    if (m.ok()) gains[rewrite_transition(d)].push_back({program, rewrite_margin(d), std::log(m.ratio)});
  }
  return gains;
}

std::string weights_fingerprint(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".safetensors" || entry.path().extension() == ".json")
        files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  std::string digests;
  for (const std::string& file : files) digests += hash_hex(read_file(file));
  return hash_hex(digests);
}

}  // namespace hone::tune
