#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "cli/fleet.h"
#include "cli/help.h"
#include "request/tune_request.h"
#include "search/strategies.h"

namespace hone::cli {

namespace {

struct TuneCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::shared_ptr<FleetOptions> fleet;
  std::shared_ptr<std::string> db;
  std::string budget = "60s", fusion_budget, fusion_start = "default";
  request::TuneRequest request;  // the options below set some members; the others are set when the command runs
};

nlohmann::json fusion_search_json(const tune::FusionSearchReport& r) {
  const auto ns = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); };
  const auto candidates = [&](const std::vector<tune::FusionCandidate>& list) {
    nlohmann::json array = nlohmann::json::array();
    for (const tune::FusionCandidate& c : list)
      array.push_back({{"predicted_ns", ns(c.predicted_ns)}, {"decisions", c.decisions.size()}});
    return array;
  };
  return {{"own_ns", ns(r.own_ns)},
          {"start_ns", ns(r.start_ns)},
          {"configurations", r.configurations},
          {"programs", r.programs},
          {"failed", r.failed},
          {"kernels", r.kernels},
          {"seconds", r.seconds},
          {"model_s", r.model_s},
          {"per_minute", r.per_minute()},
          {"best", candidates(r.best)},
          {"elsewhere", candidates(r.from_diverse_starts)}};
}

request::TuneRequest request_of(const TuneCommand& command) {
  request::TuneRequest request = command.request;
  request.program = *command.program;
  request.database = *command.db;
  request.kernels = command.fleet->kernels;
  request.budget_s = parse_duration_s(command.budget, "--budget");
  if (!command.fusion_budget.empty())
    request.fusion_budget_s = parse_duration_s(command.fusion_budget, "--fusion-budget");
  request.random_fusion_start = command.fusion_start == "random";
  return request;
}

void print_answer(const TuneCommand& command, const request::TuneAnswer& answer) {
  if (!command.output->json) {
    fmt::print("{}{}", report::report_text(answer.report), answer.learned_text);
    return;
  }
  nlohmann::json summary = report::summary_json(answer.report);
  if (answer.fusion) summary["fusion_search"] = fusion_search_json(*answer.fusion);
  if (answer.learned.is_object()) summary.update(answer.learned);
  print(summary);
}

int tune_command(const TuneCommand& command) {
  const request::TuneRequest request = request_of(command);
  request::Tuning tuning(request);
  if (command.fleet->elsewhere())
    tune_on_fleet(*command.fleet, request.program.program, database_path(request.database), tuning.package_path(),
                  request.budget_s);
  if (!request.kernels.empty()) {
    print(tuning.tune_kernels());
    return 0;
  }
  ProgressOptions shown;
  shown.budget_s = request.budget_s;
  shown.quiet = command.output->quiet;
  std::optional<Progress> progress;  // from the beginning of the search
  const request::TuneAnswer answer = tuning.run([&](const std::string& what, double gain, int64_t candidates) {
    if (!progress) progress.emplace("tune", shown);
    progress->update(static_cast<double>(candidates), fmt::format("{:.3f}x, {}", gain, what));
  });
  progress.reset();
  print_answer(command, answer);
  return 0;
}

// "fusion (which producers are fused into which consumers), codegen (...), ... and passes (...)".
std::string kinds_in_words() {
  const auto kinds = decision_kinds();
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const char* between = i == 0 ? "" : i + 1 == kinds.size() ? " and " : ", ";
    text += fmt::format("{}{} ({})", between, kinds[i].name, kinds[i].words);
  }
  return text;
}

void add_search_options(CLI::App& app, TuneCommand& command) {
  request::TuneRequest& r = command.request;
  begin_group(app, "Search");
  app.add_option("--budget", command.budget, "time of the search, as 90s or 2m (default 60s)")->type_name("DURATION");
  app.add_option(
         "--decide", r.setup.decide,
         fmt::format(
             "kinds of decisions that take part, separated by commas: all, or of {}. all includes passes from a "
             "budget of 2m on, and layout with --layout-model. layout alone searches nothing but layouts, and "
             "its result is kept out of the database (default all)",
             kinds_in_words()))
      ->type_name("LIST");
  std::vector<std::string> kinds = {"all"};
  for (const auto& kind : decision_kinds()) kinds.emplace_back(kind.name);
  offer(app.get_option("--decide"), kinds);
  app.add_option("--strategy", r.strategy,
                 fmt::format("search strategy for the program's own decisions: {} (default: groups of decisions, then "
                             "one decision at a time)",
                             fmt::join(strategy_names(), ", ")))
      ->check(one_of(strategy_names()));
  app.add_option(
      "--top-k", r.top_k,
      "options of each kernel that are measured, the best by the model (default: all that seem worth it, the "
      "best first)");
  app.add_option("--precision", command.program->precision,
                 "store declared weights as TYPE: bf16 (dots multiply bf16 and sum in f32) or int8-weights (large "
                 "matrices that only dots of at most four rows read, as bytes with an f32 factor for each output); the "
                 "report says what that gains and costs beside the original program (default: the program's own "
                 "precision)")
      ->check(one_of({kBf16Weights, kInt8Weights}))
      ->type_name("TYPE");
  app.add_flag("--no-fusion", r.no_fusion, "leave XLA's fusion as it is");
  app.add_flag("--fresh", r.fresh, "search again, even if the database has a result");
}

void add_tune_model_options(CLI::App& app, TuneCommand& command) {
  request::TuneRequest& r = command.request;
  begin_group(app, "Models");
  app.add_option(
         "--tile-model", r.tile_model,
         "model that ranks the options of each kernel: weights of hone train tile, analytical, or none (default: "
         "the weights that come with hone)")
      ->type_name("FILE");
  app.add_option(
         "--operation-model", r.operation_model,
         "model that ranks the forms of convolutions and half-precision dots: a file of weights, or none (default: the "
         "one that comes with hone)")
      ->type_name("FILE");
  app.add_option(
         "--fusion-model", r.fusion_model,
         "model that searches over fusion before any of it is measured: weights of hone train fusion, analytical, "
         "or none (default: the weights that come with hone)")
      ->type_name("FILE");
  app.add_option("--layout-model", r.setup.layout_model,
                 "model that ranks layouts: weights of hone train layout, or none (default: the weights that come with "
                 "hone for --decide layout without --strategy, else none)")
      ->type_name("FILE");
  add_models_option(app, r.models);
}

void add_tune_output_options(CLI::App& app, TuneCommand& command) {
  begin_group(app, "Output");
  app.add_option("-o,--output", command.request.output, "package to write (default NAME.hone)")->type_name("FOLDER");
  app.add_flag("--force", command.request.force, "replace the output even if it is not a package");
  command.output = add_output_options(app);
}

void add_advanced_options(CLI::App& app, TuneCommand& command) {
  request::TuneRequest& r = command.request;
  begin_group(app, "Advanced");
  app.add_option("--fusion-budget", command.fusion_budget,
                 "time of the fusion model's search, within --budget (default: three tenths of what is left by then)")
      ->type_name("DURATION");
  app.add_option("--fusion-chains", r.fusion_chains,
                 "random walks of the fusion model's search, one after the other on each worker (default 4)")
      ->check(above_zero());
  app.add_option("--fusion-workers", r.fusion_workers,
                 "workers, 1 to 64, that lower in parallel for the fusion model's search (default 1)")
      ->check(within(1, 64));
  app.add_option("--fusion-start", command.fusion_start,
                 "where searches over fusion begin: default (XLA's own fusion) or random (default: default)")
      ->check(one_of({"default", "random"}))
      ->type_name("START");
  app.add_option("--layouts-measured", r.setup.layouts_measured,
                 "layouts that are measured, of those the model ranks best (default 16)")
      ->check(above_zero());
  app.add_option("--pick", r.setup.pick,
                 "rule for the option of a kernel that is measured next: expectation (largest expected improvement, by "
                 "the scores and their spread over the model's members) or score (best score) (default expectation)")
      ->check(one_of({"expectation", "score"}))
      ->type_name("RULE");
  app.add_flag("--no-prepare", r.no_prepare,
               "compile only what is measured next, not likely candidates on CPUs that measure nothing (one thread)");
  app.add_flag(
      "--exact", command.program->exact,
      "let no other form of a convolution or dot (Winograd's method) have more than 4 times the error against f64 of "
      "default XLA's, instead of 16 times");
  app.add_flag("--no-operations", r.no_operations,
               "do not try other forms of single convolutions and half-precision dots (Winograd's method, oneDNN)");
  app.add_flag("--no-packing", r.no_packing, "do not have YNNPACK pack declared weights once instead of on every run");
  app.add_flag("--no-in-place", r.no_in_place,
               "time kernels by themselves only, not in runs of the whole program (one thread) as well");
  app.add_flag("--no-transfer", r.setup.no_transfer,
               "do not begin with the winners of similar kernels in other programs");
  app.add_flag("--no-known", r.setup.no_known,
               "do not begin with the shipped winners (data/known.db) where this machine knows none");
  app.add_flag("--no-adaption", r.setup.no_adaption,
               "do not adapt the ranking to this machine's measurements, and learn nothing from new ones");
}

void add_reference_options(CLI::App& app, TuneCommand& command) {
  request::TuneRequest& r = command.request;
  begin_group(app, kMaintainers);
  app.set_help_all_flag("--help-all", "print this help with options for maintainers and exit")->group("Output");
  app.add_flag("--fusion-only", r.fusion_only,
               "decide nothing but fusion: a reference for other searches, kept out of the database's results");
  app.add_flag("--exhaustive", r.exhaustive,
               "measure every option of every kernel with care and decide nothing else: a slow reference for other "
               "searches");
}

}  // namespace

Runner declare_tune(CLI::App& app) {
  const auto command = std::make_shared<TuneCommand>();
  begin_group(app, "Program");
  command->program = add_program_options(app, Threads::AllCores);
  add_search_options(app, *command);
  add_tune_model_options(app, *command);
  begin_group(app, "Database");
  command->db = add_database_option(app);
  add_tune_output_options(app, *command);
  add_advanced_options(app, *command);
  command->fleet = add_fleet_options(app);
  add_reference_options(app, *command);
  return [command] { return tune_command(*command); };
}

}  // namespace hone::cli
