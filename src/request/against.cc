#include "request/against.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "request/stock_jax.h"

namespace hone::request {

Contender in_worker(tune::Session& session, const Decisions& decisions) {
  return {"worker", [&session, decisions](int runs) { return session.run(decisions, runs, false).times_ns; }};
}

void write_inputs(tune::Session& session, const std::string& path) {
  for (const std::string& shape : session.program().parameters)
    if (shape.starts_with("("))
      throw Error("JAX takes arrays, and a parameter of the program is a tuple", session.name());
  write_npz(path, session.inputs());
}

AgainstJaxlib run_against_jaxlib(tune::Session& session, const Decisions& decisions, double budget_s, bool quiet) {
  const int threads = session.target().threads;
  Progress progress("against jaxlib", {.budget_s = budget_s, .quiet = quiet});
  StockJax stock({.threads = threads});
  AgainstJaxlib found{.jaxlib = stock.jaxlib_version(), .cpu_time = threads == 1};

  const TempDir folder;
  const std::string inputs = (folder.path() / "inputs.npz").string(), file = (folder.path() / "program.mlir").string();
  write_inputs(session, inputs);
  const wire::ExportReplyT program = session.exported({});
  write_file(file, std::string(program.stablehlo.begin(), program.stablehlo.end()));
  stock.set_inputs(inputs);
  nlohmann::json options = nlohmann::json::object();
  for (const auto& option : program.options) options[option->name] = option->value;
  found.first_call_s = stock.open("stock", file, options);
  found.outputs = session.judge_outputs(stock.outputs("stock"));

  const auto run_stock = [&](int runs) { return stock.run("stock", runs); };
  const std::vector<Contender> contenders = {
      {"jaxlib", run_stock}, in_worker(session, {}), in_worker(session, decisions)};
  const TurnTimes times =
      run_in_turns(contenders, {.budget_s = budget_s, .progress = [&](int turns) { progress.update(turns); }});
  progress.finish();
  found.turns = times.turns();
  found.stock_ns = times.least_ns[0], found.default_ns = times.least_ns[1], found.tuned_ns = times.least_ns[2];
  found.by_default = speedup_of(times, 0, 1);
  found.tuned = speedup_of(times, 0, 2);
  return found;
}

}  // namespace hone::request
