// hone optimize --calibrate measures the gains that hone optimize relies on.
#include <fmt/core.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "cli/optimize_command.h"
#include "features/machine_record.h"
#include "optimize/calibrate.h"

namespace hone::cli {

namespace {

using nlohmann::json;

void print_gains(const tune::Calibration& gains) {
  fmt::print("{} kernels of {} programs\n  {:<16} {:>6} {:>10} {:>8} {:>9} {:>10} {:>14}\n", gains.kernels,
             gains.programs, "transition", "seen", "margin from", "kernels", "programs", "mean gain",
             fmt::format("{:.0f} % above", 100 * (1 - gains.below)));
  for (const auto& [transition, t] : gains.by_transition)
    if (t.kernels > 0)
      fmt::print("  {:<16} {:>6} {:>10.3f} {:>8} {:>9} {:>9.3f}x {:>13.3f}x\n", transition, t.seen, t.from, t.kernels,
                 t.programs, std::exp(t.gain), std::exp(t.low));
    else
      fmt::print("  {:<16} {:>6} {:>10}\n", transition, t.seen, "never");
}

// One calibration, or one for each of several classes of machines.
int report_gains(const OptimizeCommand& c, const std::vector<tune::Calibration>& all) {
  json classes = json::array();
  for (const tune::Calibration& gains : all) classes.push_back(gains.to_json());
  const json file = all.size() == 1 ? classes[0] : json{{"classes", classes}};
  if (!c.out.empty()) write_file(c.out, file.dump(1) + "\n");
  if (c.output->json) {
    print(file);
    return 0;
  }
  for (const tune::Calibration& gains : all) {
    if (!gains.machine.empty()) fmt::print("{}: ", gains.machine);
    print_gains(gains);
  }
  return 0;
}

// The effect that calibrated choices would have had on the measured kernels.
void print_judged(const OptimizeCommand& c, const std::map<std::string, tune::JudgedProgram>& judged) {
  json rows = json::array();
  if (!c.output->json)
    fmt::print("{:<32} {:>8} {:>8} {:>8} {:>8}\n", c.part + " program", "kernels", "changed", "gain", "worst");
  for (const auto& [name, p] : judged) {
    rows.push_back({{"program", name},
                    {"kernels", p.kernels},
                    {"changed", p.changed},
                    {"gain", p.default_ns / p.chosen_ns},
                    {"worst", p.worst}});
    if (!c.output->json)
      fmt::print("{:<32.32} {:>8} {:>8} {:>7.3f}x {:>7.3f}x\n", name, p.kernels, p.changed, p.default_ns / p.chosen_ns,
                 p.worst);
  }
  if (c.output->json) print({{"part", c.part}, {"programs", std::move(rows)}});
}

int calibrate_command(const OptimizeCommand& c) {
  if (c.split.empty()) throw Error("no split is given", "--split", "give the file the model was trained with");
  const std::string model = model_path(c);
  const std::vector<std::string> programs = optimize::held_back_programs(c.split, c.part);
  if (c.judge) {
    if (c.calibrate.size() > 1) throw Error("one data set is judged at a time", "--judge");
    const std::string& dataset = c.calibrate.front();
    const tune::Calibration gains =
        optimize::known_gains(model, c.gains, c.models, optimize::dataset_class(dataset));  // no duel follows
    print_judged(c, optimize::judge(model, dataset, programs, gains));
    return 0;
  }
  std::vector<tune::Calibration> classes;
  for (const std::string& dataset : c.calibrate) classes.push_back(optimize::calibrate(model, dataset, programs));
  return report_gains(c, classes);
}

int calibrate_forms_command(const OptimizeCommand& c) {
  const std::string model = cost::shipped_model("fusion", c.models);
  if (model.empty())
    throw Error("no model of run times is shipped with this build", "--models", "make models trains one");
  return report_gains(c, optimize::calibrate_forms(c.form_rows, model));
}

int calibrate_rewrites_command(const OptimizeCommand& c) {
  if (c.split.empty()) throw Error("no split is given", "--split", "give a split file of the manifest");
  const auto open = [&](const std::string& file) {
    ProgramOptions options = *c.program;
    options.program = file;
    return open_program(options).session;
  };
  std::optional<Progress> progress;
  const auto on_program = [&](size_t done, size_t programs, const std::string& name) {
    ProgressOptions shown;
    shown.total = static_cast<double>(programs);
    shown.quiet = c.output->quiet;
    if (!progress) progress.emplace("measuring rewrites", shown);
    progress->update(static_cast<double>(done), name);
  };
  const tune::Calibration gains =
      optimize::calibrate_rewrites(c.rewrites, optimize::held_back_programs(c.split, c.part), open, on_program);
  progress.reset();
  return report_gains(c, {gains});
}

}  // namespace

bool guards(const OptimizeCommand& c) { return c.options.verify && c.options.guard_s > 0; }

std::string model_path(const OptimizeCommand& c) { return optimize::ranking_model(c.tile_model, c.models); }

tune::Calibration gains_of_model(const OptimizeCommand& c, const std::string& machine) {
  return optimize::known_gains(model_path(c), c.gains, c.models, machine, guards(c));
}

std::optional<int> run_calibration(const OptimizeCommand& c) {
  if (!c.calibrate.empty()) return calibrate_command(c);
  if (!c.rewrites.empty()) return calibrate_rewrites_command(c);
  if (!c.form_rows.empty()) return calibrate_forms_command(c);
  return std::nullopt;
}

}  // namespace hone::cli
