#include <fmt/core.h>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_tree.h"
#include "data/npz.h"
#include "passorder/fixed_orders.h"
#include "passorder/pass_order.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct OrderCommand {
  std::shared_ptr<OutputOptions> output;
  std::string program, strategy, policy, models, metric = "operations", budget = "30s", inputs, out, max_isa;
  std::vector<std::string> passes;
  passorder::OrderOptions options;
  bool no_guard = false, no_fixed_orders = false;
  int threads = 1;
};

json to_json(const passorder::Ordered& ordered) {
  return {{"passes", ordered.passes},
          {"predicted_ns", ordered.predicted_ns > 0 ? json(ordered.predicted_ns) : json(nullptr)},
          {"operations", ordered.state->instructions},
          {"flops", ordered.state->flops},
          {"transcendentals", ordered.state->transcendentals},
          {"cost", ordered.state->cost()},
          {"bytes", ordered.state->bytes},
          {"run_ns", ordered.duel.candidate_ns},
          {"speedup", ordered.duel.ratio},
          {"speedup_interval", {ordered.duel.ratio_low, ordered.duel.ratio_high}},
          {"verified", ordered.duel.verified},
          {"note", ordered.duel.error}};
}

void print_row(const char* label, const passorder::Ordered& ordered) {
  const bool ran = ordered.duel.candidate_ns > 0;
  fmt::print("  {:<10} {:>8} operations  {:>11.5g} FLOPs + 2 transcendentals  {:>10}{}\n", label,
             ordered.state->instructions, ordered.state->cost(), ran ? human_ns(ordered.duel.candidate_ns) : "not run",
             ordered.duel.verified ? "" : "  " + ordered.duel.error);
}

std::string joined(const passorder::PassHistory& passes) {
  std::string text;
  for (const std::string& pass : passes) text += (text.empty() ? "" : ",") + pass;
  return text;
}

// The given policy, or without --strategy the one that comes with hone; null = search without one.
std::unique_ptr<passorder::OrderPolicy> policy_of(const OrderCommand& command, passorder::PassSession& session) {
  const bool asked = command.strategy == "ppo" || !command.policy.empty();
  if (asked && !command.passes.empty())
    throw Error("a policy orders the passes it was trained on", "--passes", "choose another --strategy");
  if (!command.policy.empty() && !command.strategy.empty() && command.strategy != "ppo")
    throw Error("the strategy " + command.strategy + " does not use a policy", "--policy-file", "--strategy ppo");
  if (!asked && (!command.strategy.empty() || !command.passes.empty())) return nullptr;
  const std::string path = command.policy.empty() ? passorder::shipped_order_policy(command.models) : command.policy;
  if (path.empty()) {
    if (asked) throw Error("no policy comes with this build", "--policy-file", "give one of `hone gym train`");
    return nullptr;
  }
  try {
    return std::make_unique<passorder::OrderPolicy>(path, session);
  } catch (const Error& e) {
    if (asked) throw;
    spdlog::warn("searching without a policy: {}: {}", path, e.what());
    return nullptr;
  }
}

struct OrderResult {
  const OrderCommand& command;
  const passorder::OrderOptions& options;
  std::string name;  // of the program
  passorder::Ordered untouched;
  passorder::OrderReport report;
  bool written = false;
};

json guard_json(const OrderResult& r) {
  json slower = json::array();
  for (const passorder::Ordered& ordered : r.report.slower) slower.push_back(to_json(ordered));
  return {{"on", r.options.guard}, {"slower", slower}, {"skipped", r.report.skipped}};
}

json result_json(const OrderResult& r) {
  const passorder::OrderReport& report = r.report;
  return {{"program", r.name},
          {"metric", r.command.metric},
          {"strategy", r.options.strategy},
          {"initial", to_json(r.untouched)},
          {"default", to_json(report.xla)},
          {"found", to_json(report.found)},
          {"passes", report.found.passes},
          {"verified", report.found.duel.verified},
          {"guard", guard_json(r)},
          {"first_orders", r.options.first_orders.size()},
          {"evaluations", report.evaluations},
          {"applications", report.applications},
          {"rejected", report.rejected},
          {"seconds", report.seconds},
          {"seed", r.options.seed},
          {"isa", isa_in_effect(r.command.max_isa)},
          {"interrupted", interrupted()},
          {"output", r.written ? json(r.command.out) : json(nullptr)}};
}

void print_guard(const passorder::OrderReport& report) {
  if (report.slower.empty()) return;
  const passorder::Ordered& best = report.slower.front();
  fmt::print(
      "  guard      {} {} slower than default XLA or than its own order run first; of {} operations: {:.3f} ({:.3f} to "
      "{:.3f}) beside default XLA{}\n",
      report.slower.size() + static_cast<size_t>(report.skipped),
      report.slower.size() + static_cast<size_t>(report.skipped) == 1 ? "order is" : "orders are",
      best.state->instructions, best.duel.ratio, best.duel.ratio_low, best.duel.ratio_high,
      report.found.passes.empty()                ? "; the program stays as it is"
      : report.found.passes == report.xla.passes ? "; XLA's own order is kept"
                                                 : "");
}

void print_result(const OrderResult& r) {
  fmt::print("{}: {} orders, {} passes run in {:.1f} s{}\n", r.name, r.report.evaluations, r.report.applications,
             r.report.seconds, interrupted() ? ", interrupted" : "");
  print_row("untouched", r.untouched);
  print_row("default", r.report.xla);
  print_row("found", r.report.found);
  print_guard(r.report);
  fmt::print("  passes     {}\n", joined(r.report.found.passes));
  if (r.written) fmt::print("  written to {}\n", r.command.out);
}

// Null where the metric needs no model.
std::unique_ptr<passorder::PredictedTimes> model_for(const OrderCommand& command, passorder::OrderMetric metric,
                                                     passorder::PassSession& session) {
  if (metric != passorder::OrderMetric::PredictedTime) return nullptr;
  return std::make_unique<passorder::PredictedTimes>(session, command.models);
}

int order_command(const OrderCommand& command) {
  passorder::OrderOptions options = command.options;
  options.guard = !command.no_guard;
  options.strategy = command.strategy.empty() ? "ppo" : command.strategy;
  options.metric = passorder::order_metric_from_name(command.metric);
  options.budget_s = parse_duration_s(command.budget, "--budget");
  options.passes = command.passes;
  options.validate();
  const report::ProgramFile file = report::read_program(command.program);
  passorder::PassSessionOptions session_options;
  session_options.threads = command.threads;
  session_options.seed = options.seed;
  session_options.max_isa = command.max_isa;
  passorder::PassSession session(session_options);
  const std::unique_ptr<passorder::OrderPolicy> policy = policy_of(command, session);
  const std::unique_ptr<passorder::PredictedTimes> predicted = model_for(command, options.metric, session);
  if (command.strategy.empty() && !policy) options.strategy = "genetic";
  if (!command.no_fixed_orders && command.passes.empty() && command.policy.empty())
    options.first_orders = passorder::fitting_orders(session, command.models);
  const std::string program = session.load(file.bytes, file.name);
  if (!command.inputs.empty()) session.set_inputs(program, read_npz(command.inputs));

  ProgressOptions shown;
  shown.budget_s = options.budget_s;
  shown.quiet = command.output->quiet;
  Progress progress("ordering passes", shown);
  int64_t evaluations = 0;
  options.should_stop = interrupted;
  options.on_progress = [&](const std::string& best) { progress.update(static_cast<double>(++evaluations), best); };
  OrderResult result{command, options, file.name, {}, {}};
  result.report = passorder::order_passes(session, program, options, policy.get(), predicted.get());
  progress.finish();

  const passorder::Ordered& found = result.report.found;
  result.untouched = {{}, result.report.initial, session.measure(program, {}, options.measure_ms)};
  result.written = found.duel.verified && !command.out.empty();
  if (result.written) write_file(command.out, session.hlo(program, found.passes));
  if (command.output->json)
    print(result_json(result));
  else
    print_result(result);
  if (!found.duel.verified) fmt::print(stderr, "hone: the outputs could not be verified: {}\n", found.duel.error);
  return found.duel.verified ? 0 : 1;
}

}  // namespace

Runner declare_order(CLI::App& app) {
  const auto command = std::make_shared<OrderCommand>();
  app.add_option("PROGRAM", command->program, "program, in any format that hone inspect reads")
      ->required()
      ->type_name("");
  offer(
      app.add_option("--strategy", command->strategy,
                     "strategy: ppo (a trained policy), random, greedy, beam, anneal or genetic (default ppo, without "
                     "a policy genetic)"),
      {"ppo", "random", "greedy", "beam", "anneal", "genetic"});
  app.add_option(kPolicyFile, command->policy, "policy of hone gym train (default: the one that comes with hone)")
      ->type_name("FILE");
  add_models_option(app, command->models);
  app.add_option("--metric", command->metric,
                 "what is minimised: operations, cost (FLOPs + 2 transcendentals), run-time (measured) or "
                 "predicted-run-time (by the shipped model of kernels) (default operations)")
      ->check(one_of(passorder::order_metric_names()));
  app.add_flag("--no-fixed-orders", command->no_fixed_orders,
               "do not begin with the orders that come with hone (as with --passes and --policy-file)");
  app.add_flag("--no-guard", command->no_guard, "also return an order that runs slower than default XLA");
  app.add_option("--budget", command->budget, "time of the search, as 90s or 2m (default 30s)")->type_name("DURATION");
  app.add_option("--max-applications", command->options.max_applications,
                 "most passes that are run in all (default: no limit)");
  app.add_option("--length", command->options.length, "most passes of one order (default 45)");
  app.add_option("--passes", command->passes,
                 "passes to choose from, separated by commas (default: the default action set)")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--threads", command->threads, "threads of a measured run (default 1)")->check(within(1, 1024));
  add_max_isa_option(app, command->max_isa);
  app.add_option("--seed", command->options.seed, "seed for the search and for generated inputs (default 0)");
  app.add_option("--inputs", command->inputs, "file of inputs (.npz), arrays in the order of the parameters")
      ->type_name("FILE");
  app.add_option("-o,--output", command->out, "file for the ordered program (HLO text)")->type_name("FILE");
  command->output = add_output_options(app);
  return [command] { return order_command(*command); };
}

}  // namespace hone::cli
