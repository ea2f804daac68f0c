#include <fmt/core.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "request/export_jax.h"

namespace hone::cli {

namespace {

struct ExportCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  request::ExportRequest request;
  std::string to = "jax", budget = "10s";
  bool no_duel = false;
};

void print_export(const request::JaxExport& exported) {
  fmt::print("{}: {} of {} decisions carried to stock JAX, written to {}\n", exported.program, exported.carried(),
             exported.decisions.size(), exported.output);
  for (const request::Carried& carried : exported.decisions) {
    const std::string note = carried.why.empty() ? carried.instead : carried.why;
    fmt::print("  {:<12} {} {} = {}{}\n", carried.by.empty() ? "left out" : carried.by,
               decision_kind_name(carried.decision.kind), carried.decision.key, carried.decision.value,
               note.empty() ? "" : ": " + note);
  }
  if (!exported.variant.xla_flags.empty())
    fmt::print("  XLA_FLAGS={}, which load.py sets\n", exported.variant.xla_flags);
  if (!exported.duel) return;
  const request::ExportDuel& duel = *exported.duel;
  fmt::print(
      "  in jaxlib {}: original {}, exported {}, {:.3f}x [{:.3f}, {:.3f}], {} turns, outputs verified; {:.3f}x in "
      "Hone\n",
      exported.python.at("jaxlib").get<std::string>(), human_ns(duel.original_ns), human_ns(duel.exported_ns),
      duel.speedup.ratio, duel.speedup.low, duel.speedup.high, duel.turns, exported.tuned_speedup);
}

int export_command(ExportCommand& command) {
  command.request.program = *command.program;
  command.request.quiet = command.output->quiet;
  command.request.duel_s = command.no_duel ? 0 : parse_duration_s(command.budget, "--budget");
  const request::JaxExport exported = request::export_to_jax(command.request);
  if (exported.duel && exported.duel->speedup.high < 1)
    spdlog::warn("in stock jaxlib the exported program is slower than the original, {:.3f}x",
                 exported.duel->speedup.ratio);
  if (command.output->json)
    print(request::to_json(exported));
  else
    print_export(exported);
  return 0;
}

}  // namespace

Runner declare_export(CLI::App& app) {
  const auto command = std::make_shared<ExportCommand>();
  command->program = add_program_options(app);
  app.get_option("PROGRAM")->description("tuned program, NAME.hone");
  app.add_option("--to", command->to, "what the program is for: jax, any stock JAX without Hone (default jax)")
      ->check(one_of({"jax"}))
      ->type_name("NAME");
  app.add_option(kOutput, command->request.output, "folder to write (default NAME.jax)")->type_name("FOLDER");
  app.add_flag("--force", command->request.force, "replace an older export");
  app.add_option("--budget", command->budget,
                 "time of the duel with the original program in stock jaxlib, as 10s or 1m (default 10s)")
      ->type_name("DURATION");
  app.add_flag("--no-duel", command->no_duel, "write the folder without the duel, and compare no outputs");
  command->output = add_output_options(app);
  return [command] { return export_command(*command); };
}

}  // namespace hone::cli
