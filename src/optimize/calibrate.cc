#include "optimize/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "collect/collect.h"
#include "cost/learn_library.h"
#include "cost/shipped.h"
#include "data/dataset.h"
#include "features/machine_record.h"

namespace hone::optimize {

namespace {

constexpr char kModel[] = "tile";
constexpr char kGainsFile[] = "tile-gains.json", kRewriteGainsFile[] = "rewrite-gains.json";
constexpr char kRunTimes[] = "fusion", kFormGainsFile[] = "form-gains.json";

// For the machine that the data set is of.
std::unique_ptr<cost::LearnedModel> open_ranking_model(const std::string& path, const std::string& dataset) {
  const auto machine = features::read_machine_file(dataset);
  std::unique_ptr<cost::LearnedModel> model =
      cost::load_learned_model(path, machine ? machine->properties : features::this_cpu(1));
  if (model->task() != "tile") throw Error("these weights do not rank options", path, "weights of hone train tile do");
  return model;
}

}  // namespace

std::string ranking_model(const std::string& given, const std::string& models) {
  if (given != "shipped") return given;
  const std::string path = cost::shipped_model(kModel, models);
  if (path.empty()) throw Error("no model is shipped with this build", "--tile-model", "make models trains one");
  return path;
}

std::string dataset_class(const std::string& dataset) {
  const auto machine = features::read_machine_file(dataset);
  return machine ? features::machine_class(*machine) : features::this_machine_class(1);
}

tune::Calibration known_gains(const std::string& model, const std::string& file, const std::string& models,
                              const std::string& machine, bool or_similar) {
  const std::string path = file.empty() ? cost::shipped_model(kGainsFile, models) : file;
  const char* hint = "hone optimize --calibrate DATASET --split FILE measures it";
  if (path.empty()) throw Error("the error of this model is not known", model, hint);
  tune::Calibration gains = tune::Calibration::load(path, machine, or_similar);
  if (gains.model != tune::weights_fingerprint(model))
    throw Error("the error of this model is not known: the file describes another model", path, hint);
  const std::string rewrites = file.empty() ? cost::shipped_model(kRewriteGainsFile, models) : "";
  if (!rewrites.empty()) gains.by_transition.merge(tune::Calibration::load(rewrites, machine).by_transition);
  return gains;
}

std::vector<std::string> held_back_programs(const std::string& split, const std::string& part) {
  const Split parts = Split::read(split);
  return part == "test" ? parts.test : parts.validation;
}

tune::Calibration calibrate(const std::string& model, const std::string& dataset,
                            const std::vector<std::string>& programs) {
  const auto opened = open_ranking_model(model, dataset);
  tune::Calibration gains = tune::measure_gains(Dataset::open(dataset), programs, *opened, model);
  gains.machine = dataset_class(dataset);
  return gains;
}

std::map<std::string, tune::JudgedProgram> judge(const std::string& model, const std::string& dataset,
                                                 const std::vector<std::string>& programs,
                                                 const tune::Calibration& gains) {
  const auto opened = open_ranking_model(model, dataset);
  return tune::judge_gains(Dataset::open(dataset), programs, *opened, gains);
}

tune::Calibration calibrate_rewrites(const std::string& manifest, const std::vector<std::string>& programs,
                                     const OpenSession& open, const OnProgram& on_program) {
  std::vector<collect::CollectProgram> listed = collect::read_manifest(manifest);
  std::erase_if(listed, [&](const collect::CollectProgram& p) {
    return std::find(programs.begin(), programs.end(), p.name) == programs.end();
  });
  if (listed.empty()) throw Error("the manifest has no program of this part", manifest);
  std::map<std::string, std::vector<tune::RankedGain>> measured;
  tune::Calibration gains;
  try {
    for (size_t i = 0; i < listed.size(); ++i) {
      on_program(i, listed.size(), listed[i].name);
      const std::unique_ptr<tune::Session> session = open(listed[i].file);
      const auto found = tune::measure_rewrites(*session, listed[i].name);
      gains.programs += !found.empty();
      for (const auto& [way, more] : found) {
        gains.kernels += static_cast<int>(more.size());
        measured[way].insert(measured[way].end(), more.begin(), more.end());
      }
    }
  } catch (const tune::Stopped&) {
    spdlog::warn("interrupted: {} operations of {} programs are measured", gains.kernels, gains.programs);
  }
  gains.by_transition = tune::acceptance_thresholds(std::move(measured));
  return gains;
}

std::vector<tune::Calibration> calibrate_forms(const std::string& rows, const std::string& model) {
  std::map<std::string, std::map<std::string, std::vector<tune::RankedGain>>> classes;
  std::ifstream file(rows);
  if (!file) throw Error("the file cannot be read", rows);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      const nlohmann::json row = nlohmann::json::parse(line);
      const double ratio = row.at("ratio"), margin = row.at("margin");
      if (!(ratio > 0) || !std::isfinite(margin)) throw Error("a ratio or a margin is no number");
      classes[row.at("machine")][row.at("transition")].push_back({row.at("program"), margin, std::log(ratio)});
    } catch (const std::exception& e) {
      throw Error(fmt::format("no row of a form: {}", e.what()), fmt::format("{}, line {}", rows, number));
    }
  }
  if (classes.empty()) throw Error("there is no row", rows, "bench_variants makes them");
  const std::string fingerprint = tune::weights_fingerprint(model);
  std::vector<tune::Calibration> calibrations;
  for (auto& [machine, by_transition] : classes) {
    tune::Calibration gains;
    gains.model = fingerprint;
    gains.machine = machine;
    std::set<std::string> programs;
    for (const auto& [transition, changes] : by_transition) {
      gains.kernels += static_cast<int>(changes.size());
      for (const tune::RankedGain& change : changes) programs.insert(change.program);
    }
    gains.programs = static_cast<int>(programs.size());
    gains.below = tune::kBeforeDuel;
    gains.by_transition = tune::acceptance_thresholds(std::move(by_transition), gains.below);
    calibrations.push_back(std::move(gains));
  }
  return calibrations;
}

FormsModel shipped_forms_model(const std::string& models, const std::string& machine, const features::Cpu& cpu) {
  const std::string weights = cost::shipped_model(kRunTimes, models),
                    file = cost::shipped_model(kFormGainsFile, models);
  if (weights.empty() || file.empty()) return {};
  FormsModel opened{nullptr, tune::Calibration::load(file, machine, /*or_similar=*/true)};
  if (opened.gains.model != tune::weights_fingerprint(weights)) {
    spdlog::info("{} is about another model than {}: forms of operations stay as they are", file, weights);
    return {};
  }
  if (!opened.gains.by_transition.empty()) opened.run_times = tune::open_fusion_model(weights, cpu);
  return opened;
}

}  // namespace hone::optimize
