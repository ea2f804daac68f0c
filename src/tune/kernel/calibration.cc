#include "tune/kernel/calibration.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/stats.h"
#include "base/text.h"
#include "features/columns.h"
#include "features/encoded.h"
#include "graph/decision_family.h"

namespace hone::tune {

namespace {

using nlohmann::json;

template <class T>
T field(const json& object, const char* name, const std::string& where) {
  try {
    return object.at(name).get<T>();
  } catch (const json::exception&) {
    throw Error(std::string("the field '") + name + "' is missing or of another type", where,
                "hone optimize --calibrate writes such files");
  }
}

// Of each option, whether the tiled emitter makes it, as its features say.
std::vector<bool> tiled_options(const KernelView& kernel) {
  const auto& columns = features::tile_columns();
  const auto at = std::find_if(columns.begin(), columns.end(),
                               [](const features::Column& column) { return column.name == "tiled_emitter"; });
  if (at == columns.end()) throw InternalError("no feature says that an option is tiled");
  std::vector<bool> tiled;
  for (int64_t option = 0; option < kernel.options(); ++option)
    tiled.push_back(kernel.tiles[option * columns.size() + (at - columns.begin())] > 0);
  return tiled;
}

// Calls see(kernel, leads) for each kernel of the programs that has its default and another option measured.
template <class See>
void rank_kernels(const Dataset& dataset, const std::vector<std::string>& programs, cost::LearnedModel& model,
                  See&& see) {
  int kernels = 0;
  for (int64_t index : Split::kernels_of(dataset, programs)) {
    const KernelView kernel = dataset.kernel(index);
    if (kernel.options() < 2 || kernel.default_option < 0) continue;
    ++kernels;
    see(kernel, leads_of(std::string(kernel.kind), model.predict(kernel), tiled_options(kernel), kernel.default_option,
                         model.predicts_runtime()));
  }
  if (kernels == 0) throw Error("no kernel of these programs has its default and another option measured");
}

// Of the kernels from `first` on.
Trust tail_of(const std::vector<RankedGain>& kernels, size_t first) {
  Trust tail;
  tail.from = kernels[first].lead;
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
  tail.low = quantile(gains, Trust::kQuantile);
  return tail;
}

}  // namespace

std::string way_of_change(const std::string& kernel_kind, bool default_tiled, bool option_tiled) {
  if (kernel_kind != "fusion") return kernel_kind;
  return std::string(default_tiled ? "tiled" : "loop") + " to " + (option_tiled ? "tiled" : "loop");
}

std::map<std::string, Lead> leads_of(const std::string& kernel_kind, const std::vector<double>& scores,
                                     const std::vector<bool>& tiled, int default_option, bool scores_are_ns) {
  const auto count = static_cast<int>(scores.size());
  if (static_cast<int>(tiled.size()) != count || default_option < 0 || default_option >= count)
    throw InternalError("leads of options that are not there");
  const double own = scores[default_option];
  std::map<std::string, Lead> leads;
  for (int i = 0; i < count; ++i) {
    if (i == default_option) continue;
    const double lead = scores_are_ns ? std::log(own / scores[i]) : own - scores[i];
    const auto [best, fresh] =
        leads.try_emplace(way_of_change(kernel_kind, tiled[default_option], tiled[i]), Lead{i, lead});
    if (!fresh && lead > best->second.lead) best->second = {i, lead};
  }
  return leads;
}

Trust trust_of(std::vector<RankedGain> kernels) {
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) { return a.lead < b.lead; });
  Trust trust;
  trust.seen = static_cast<int>(kernels.size());
  for (size_t first = kernels.size(); first-- > 0;) {
    if (first > 0 && kernels[first - 1].lead == kernels[first].lead) continue;  // equal leads stand or fall together
    const Trust tail = tail_of(kernels, first);
    if (tail.kernels < Trust::kKernels || tail.programs < Trust::kPrograms) continue;
    if (!tail.trusts(tail.from)) break;
    trust = tail;
  }
  return trust;
}

const Trust& KnownGains::of(const std::string& way) const {
  static const Trust never;
  const auto known = by_way.find(way);
  return known == by_way.end() ? never : known->second;
}

std::optional<std::string> KnownGains::choice(const std::map<std::string, Lead>& leads) const {
  std::optional<std::string> best;
  for (const auto& [way, lead] : leads)
    if (of(way).trusts(lead.lead) && (!best || of(way).low > of(*best).low)) best = way;
  return best;
}

json KnownGains::to_json() const {
  json ways = json::object();
  for (const auto& [way, t] : by_way)
    ways[way] = {{"from", std::isfinite(t.from) ? json(t.from) : json(nullptr)},
                 {"gain", t.gain},
                 {"low", t.low},
                 {"kernels", t.kernels},
                 {"programs", t.programs},
                 {"seen", t.seen}};
  return {{"model", model},
          {"feature_version", features::kFeatureVersion},
          {"quantile", Trust::kQuantile},
          {"kernels", kernels},
          {"programs", programs},
          {"ways", std::move(ways)}};
}

KnownGains KnownGains::load(const std::string& path) {
  const json object = json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) throw Error("known gains of a model are a JSON object", path);
  KnownGains gains;
  gains.model = field<std::string>(object, "model", path);
  gains.kernels = field<int>(object, "kernels", path);
  gains.programs = field<int>(object, "programs", path);
  if (field<int>(object, "feature_version", path) != features::kFeatureVersion)
    throw Error("known gains of another feature version", path, "hone optimize --calibrate writes them again");
  const json ways = field<json>(object, "ways", path);
  for (const auto& [way, t] : ways.items()) {
    Trust trust;
    if (!field<json>(t, "from", path).is_null()) trust.from = field<double>(t, "from", path);
    trust.gain = field<double>(t, "gain", path);
    trust.low = field<double>(t, "low", path);
    trust.kernels = field<int>(t, "kernels", path);
    trust.programs = field<int>(t, "programs", path);
    trust.seen = field<int>(t, "seen", path);
    gains.by_way[way] = trust;
  }
  return gains;
}

KnownGains measure_gains(const Dataset& dataset, const std::vector<std::string>& programs, cost::LearnedModel& model,
                         const std::string& weights_path) {
  std::map<std::string, std::vector<RankedGain>> by_way;
  std::set<std::string> seen;
  KnownGains gains;
  gains.model = weights_fingerprint(weights_path);
  rank_kernels(dataset, programs, model, [&](const KernelView& kernel, const std::map<std::string, Lead>& leads) {
    ++gains.kernels;
    seen.emplace(kernel.program);
    const double default_ns = kernel.runtime_ns[kernel.default_option];
    for (const auto& [way, lead] : leads)
      by_way[way].push_back(
          {std::string(kernel.program), lead.lead, std::log(default_ns / kernel.runtime_ns[lead.option])});
  });
  gains.programs = static_cast<int>(seen.size());
  for (auto& [way, kernels] : by_way) gains.by_way[way] = trust_of(std::move(kernels));
  return gains;
}

std::map<std::string, JudgedProgram> judge_gains(const Dataset& dataset, const std::vector<std::string>& programs,
                                                 cost::LearnedModel& model, const KnownGains& gains) {
  std::map<std::string, JudgedProgram> judged;
  rank_kernels(dataset, programs, model, [&](const KernelView& kernel, const std::map<std::string, Lead>& leads) {
    JudgedProgram& program = judged[std::string(kernel.program)];
    const std::optional<std::string> way = gains.choice(leads);
    const double default_ns = kernel.runtime_ns[kernel.default_option];
    const double chosen_ns = way ? kernel.runtime_ns[leads.at(*way).option] : default_ns;
    ++program.kernels;
    program.changed += way.has_value();
    program.default_ns += default_ns;
    program.chosen_ns += chosen_ns;
    program.worst = std::min(program.worst, default_ns / chosen_ns);
  });
  return judged;
}

std::string window_way(const Dimension& operation) {
  const DecisionFamily* family = family_of(operation);
  if (!family || !*family->word) throw InternalError("no transition of " + operation.key);
  return family->word;
}

double window_lead(const Dimension& operation) { return std::log(std::max(1.0, operation.weight)); }

std::map<std::string, std::vector<RankedGain>> measure_windows(Bench& bench, const std::string& program) {
  constexpr Duel kDuel{.min_rounds = 5, .max_rounds = 25, .budget_ms = 400, .precision = 0.01, .limit_s = 120};
  std::vector<Dimension> operations = bench.lower({}, /*want_fusion=*/false).dimensions;
  std::erase_if(operations, [](const Dimension& d) { return d.kind != DecisionKind::Rewrite; });
  Decisions all;
  for (const Dimension& d : operations) all.push_back({d.kind, d.key, kShifted});
  std::sort(all.begin(), all.end());
  std::map<std::string, std::vector<RankedGain>> gains;
  for (const Dimension& d : operations) {
    Decisions others = all;
    std::erase_if(others, [&](const Decision& decision) { return decision.key == d.key; });
    const Measurement m = bench.measure_program(all, others, kDuel);
    if (m.ok()) gains[window_way(d)].push_back({program, window_lead(d), std::log(m.ratio)});
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
