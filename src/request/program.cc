#include "request/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/object_store.h"
#include "base/text.h"
#include "data/npz.h"

namespace hone::request {

namespace {

int64_t machine_memory_bytes() { return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE); }

void check_precision(const ProgramOptions& options, const OpenedProgram& opened) {
  if (options.precision != kBf16Weights && options.precision != kInt8Weights)
    throw Error(fmt::format("unknown precision '{}'", options.precision), "--precision",
                fmt::format("{} or {}", kBf16Weights, kInt8Weights));
  if (opened.file.package && !opened.file.package->target.precision.empty())
    throw Error("the package's program is converted already", options.program, "leave out --precision");
  if (!opened.session->program().snapshot_inputs.empty())
    throw Error("the program's snapshot has inputs in the types of the original", "--precision",
                "give a program without a snapshot, and --inputs");
}

std::string counted(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void warn_of_left_out(const wire::LoadReplyT& program, const std::string& file) {
  if (program.left_out == 0) return;
  const std::string parameters =
      program.left_out_parameters == 0
          ? ""
          : fmt::format(" ({} of them are the last parameters now)", program.left_out_parameters);
  spdlog::warn(
      "{}: {} were left out of the file, and made-up values take their place{}: outputs mean nothing, times "
      "and rounding may differ",
      file, counted(program.left_out, "constant"), parameters);
}

}  // namespace

std::string cache_folder(const std::string& given) {
  return given.empty() ? user_object_folder() : ObjectStore({given}).folder();
}

int ProgramOptions::threads_used() const { return threads.value_or(all_cores ? this_machine().usable_cores : 1); }

tune::Target ProgramOptions::target(const std::optional<report::LoadedPackage>& package) const {
  tune::Target target = package ? package->target : tune::Target{};
  if (threads || !package) target.threads = threads_used();
  if (seed) target.seed = *seed;
  if (weights) target.weights = parse_index_list(*weights, "--weights");
  if (allow_fast_math) target.allow_fast_math = true;
  if (!precision.empty()) target.precision = precision;
  target.exact = exact;
  // A package from a machine with more: use_package() says what then runs.
  if (!has_isa(cpu_isa(), target.max_isa)) target.max_isa.clear();
  if (!max_isa.empty()) target.max_isa = max_isa;
  target.validate();
  return target;
}

OpenedProgram open_program(const ProgramOptions& options, double budget_s, bool prepare) {
  OpenedProgram opened;
  opened.file = report::read_program(options.program);
  std::vector<NamedArray> inputs;
  if (!options.inputs.empty()) inputs = read_npz(options.inputs);
  tune::SessionOptions session;
  session.target = options.target(opened.file.package);
  session.budget_s = budget_s;
  session.worker.memory_limit_bytes = options.memory_gib > 0
                                          ? static_cast<int64_t>(options.memory_gib * (int64_t{1} << 30))
                                          : machine_memory_bytes() / 5 * 4;
  session.worker.cache_code = !options.no_cache;
  session.prepare = prepare;
  if (!options.no_cache) session.worker.cache_folder = cache_folder(options.cache);
  opened.session = std::make_unique<tune::Session>(session);
  opened.session->load(opened.file.bytes, opened.file.name);
  warn_of_left_out(opened.session->program(), opened.file.name);
  if (!options.precision.empty()) {
    check_precision(options, opened);
    if (!inputs.empty()) opened.session->set_inputs(inputs);  // of the original, which is compared with
    const std::string converted = opened.session->converted(options.precision, opened.precision);
    opened.session->load(converted, opened.file.name);
  }
  const auto& snapshot = opened.session->program().snapshot_inputs;
  opened.inputs = !options.inputs.empty() ? options.inputs : snapshot.empty() ? "generated" : "snapshot";
  if (!options.inputs.empty()) opened.session->set_inputs(std::move(inputs));
  return opened;
}

std::string unknown_calls_text(const wire::LoadReplyT& program) {
  std::vector<std::string> calls;
  for (const auto& call : program.unknown_calls)
    calls.push_back(fmt::format("{} ({})", call->name, counted(call->count, "call")));
  return fmt::format("{}", fmt::join(calls, ", "));
}

void check_runs(const OpenedProgram& opened) {
  const wire::LoadReplyT& program = opened.session->program();
  if (program.unknown_calls.empty()) return;
  const bool lapack = program.unknown_calls.front()->name.starts_with("lapack_");
  throw Error("nothing here computes its custom calls " + unknown_calls_text(program), opened.file.name,
              lapack ? "install numpy, or Debian's libopenblas0-pthread: no library of LAPACK was found"
                     : "Hone runs XLA's own operations and JAX's calls of LAPACK");
}

}  // namespace hone::request
