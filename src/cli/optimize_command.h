// hone optimize, as it was given on the command line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/help.h"
#include "optimize/optimize.h"
#include "tune/kernel/calibration.h"

namespace hone::cli {

struct OptimizeCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string out, tile_model = "shipped", operation_model = "shipped", gains, models;
  std::string guard = "1s";
  optimize::OptimizeOptions options;
  bool no_forms = false, no_layouts = false, no_verify = false, rank_only = false, force = false, judge = false;
  std::vector<std::string> calibrate;                // data sets
  std::string rewrites, split, part = "validation";  // manifest of a calibration
  std::string form_rows;
};

// A duel decides, so that gains of similar machines will do.
bool guards(const OptimizeCommand& c);
std::string model_path(const OptimizeCommand& c);  // of the ranking model
tune::Calibration gains_of_model(const OptimizeCommand& c, const std::string& machine);

// The calibration that the options ask for, with its exit status; nothing where they ask for none.
std::optional<int> run_calibration(const OptimizeCommand& c);

}  // namespace hone::cli
