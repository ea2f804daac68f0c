#include "request/against.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "request/stock_jax.h"

namespace hone::request {
namespace {

constexpr double kMostBytes = 0x1p31 - 0x1p24;  // of a message of the worker, without its frame
constexpr char kWithout[] = "leave out --against, or export with --no-duel";

// The product of the dimensions in "[2,3]".
double elements(const std::string& dims) {
  double product = 1;
  for (size_t at = 0; (at = dims.find_first_of("0123456789", at)) != std::string::npos;) {
    const size_t end = std::min(dims.find_first_not_of("0123456789", at), dims.size());
    product *= std::stod(dims.substr(at, end - at));
    at = end;
  }
  return product;
}

}  // namespace

Contender in_worker(tune::Session& session, const Decisions& decisions) {
  return {"worker", [&session, decisions](int runs) { return session.run(decisions, runs, false).times_ns; }};
}

void check_arrays(const std::vector<std::string>& shapes, const std::string& program) {
  double bytes = 0;
  for (const std::string& shape : shapes) {
    if (shape.starts_with("(")) throw Error("JAX takes arrays, and the program has a tuple", program, kWithout);
    const size_t open = std::min(shape.find('['), shape.size());
    try {
      bytes += static_cast<double>(element_bytes(shape.substr(0, open))) * elements(shape.substr(open));
    } catch (const Error& error) {
      throw Error(fmt::format("stock jaxlib gets its arrays in files: {}", error.what()), program, kWithout);
    }
  }
  if (bytes > kMostBytes)
    throw Error("the arrays for stock jaxlib are larger than 2 GiB", program,
                "give a smaller program; or leave out --against, or export with --no-duel");
}

std::string write_inputs(tune::Session& session, const std::string& folder) {
  check_arrays(session.program().parameters, session.name());
  check_arrays(session.program().results, session.name());
  const std::vector<NamedArray> arrays = session.inputs();
  if (arrays.empty()) return "";
  const std::string path = folder + "/inputs.npz";
  write_npz(path, arrays);
  return path;
}

AgainstJaxlib run_against_jaxlib(tune::Session& session, const Decisions& decisions, double budget_s, bool quiet) {
  const int threads = session.target().threads;
  Progress progress("against jaxlib", {.budget_s = budget_s, .quiet = quiet});
  StockJax stock({.program = session.name(), .threads = threads});
  AgainstJaxlib found{.jaxlib = stock.jaxlib_version(), .cpu_time = threads == 1};

  const TempDir folder;
  const std::string inputs = write_inputs(session, folder.path().string());
  const std::string file = (folder.path() / "program.mlir").string();
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
