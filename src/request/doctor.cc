#include "request/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/core_probe.h"
#include "base/error.h"
#include "base/isa.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "cost/code_model.h"
#include "cost/learn_library.h"
#include "cost/run_time_model.h"
#include "cost/shipped.h"
#include "data/postgres.h"
#include "options/safetensors.h"
#include "request/database_file.h"
#include "request/program.h"
#include "tune/kernel/calibration.h"

namespace hone::request {

namespace fs = std::filesystem;

namespace {

constexpr char kProbe[] = R"(HloModule doctor
ENTRY e {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  d = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT m = f32[64,64] multiply(d, a)
}
)";

constexpr char kLinearAlgebraProbe[] = R"(HloModule linear_algebra
ENTRY e {
  a = f32[2,2]{0,1} parameter(0)
  ROOT c = (f32[2,2]{0,1}, s32[]) custom-call(a), custom_call_target="lapack_spotrf_ffi",
    operand_layout_constraints={f32[2,2]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
}
)";

// A fixed number of rounds: a duel that stops at a narrow interval underestimates the spread.
constexpr tune::Duel kProbeDuel{.min_rounds = 40, .max_rounds = 40, .budget_ms = 2000, .precision = 0};
constexpr int kDuels = 3;  // a 95 % interval excludes the true ratio in one duel of 20, in three in a row hardly ever
constexpr double kWideSpread = 0.02;
constexpr double kMuchDisturbed = 0.2;  // of the time
constexpr int64_t kLittleMemory = int64_t{2} << 30;

// The shipped models: folders of weights of kernel models, other weights, and calibrations.
constexpr const char* kModels[] = {"tile",
                                   "fusion",
                                   "code",
                                   "cold/seed-0.safetensors",
                                   "layout/ranker.safetensors",
                                   "order/policy.safetensors",
                                   "go/policy.safetensors",
                                   "tile-gains.json",
                                   "rewrite-gains.json"};

// The share of 0.3 s in which something disturbs this core.
double disturbed_share() {
  std::vector<double> probes;
  for (const double start = steady_s(); seconds_since(start) < 0.3;) probes.push_back(core_probe_ns());
  const double limit = kDisturbed * *std::min_element(probes.begin(), probes.end());
  const auto disturbed = std::count_if(probes.begin(), probes.end(), [&](double probe) { return probe > limit; });
  return static_cast<double>(disturbed) / static_cast<double>(probes.size());
}

std::string described(const Error& error) {
  return error.what() + (error.where().empty() ? "" : " (" + error.where() + ")");
}

// The result of `check`. An Error makes it a failed check, so that the following checks still run.
template <class MakeCheck>
Check checked(const std::string& name, const std::string& hint, MakeCheck&& check) {
  try {
    return check();
  } catch (const Error& error) {
    return {name, CheckStatus::Failed, described(error), error.hint().empty() ? hint : error.hint()};
  }
}

Check seams_check(const wire::HelloReplyT& hello) {
  std::vector<std::string> off;
  for (const auto& seam : hello.seams)
    if (!seam->ok) off.push_back(seam->name);
  if (off.empty())
    return {"seams", CheckStatus::Ok, fmt::format("all {} interposed functions of XLA work", hello.seams.size())};
  return {"seams", off.size() == hello.seams.size() ? CheckStatus::Failed : CheckStatus::Warning,
          fmt::format("off: {}", fmt::join(off, ", ")),
          "decisions that need them are not tried; make build installs the XLA version that hone supports"};
}

bool has_one(const tune::Measurement& duel) { return duel.ratio_low <= 1 && 1 <= duel.ratio_high; }

tune::Measurement duel_with_itself(tune::Session& session) {
  tune::Measurement duel;
  for (int i = 0; i < kDuels; ++i) {
    duel = session.measure_program({}, {}, kProbeDuel);
    if (!duel.ok() || has_one(duel)) break;
  }
  return duel;
}

Check linear_algebra_check(tune::Session& session) {
  return checked("linear algebra", "see hone worker", [&]() -> Check {
    session.load(kLinearAlgebraProbe, "doctor");
    const std::string& library = session.program().lapack;
    if (!library.empty()) return {"linear algebra", CheckStatus::Ok, library};
    return {"linear algebra", CheckStatus::Warning, "no library of LAPACK is found",
            "programs with jnp.linalg cannot run: install numpy, or Debian's libopenblas0-pthread"};
  });
}

void check_worker(const DoctorRequest& request, Diagnosis& diagnosis) {
  std::optional<tune::Session> session;
  const char* hint = has_isa(cpu_isa(), "avx") ? "run 'make build'; the libraries in .venv must not be moved afterwards"
                                               : "XLA's wheel is compiled for CPUs with AVX, which this one lacks";
  diagnosis.checks.push_back(checked("worker", hint, [&]() -> Check {
    const auto start = std::chrono::steady_clock::now();
    tune::SessionOptions options;
    options.worker = request.worker;
    options.worker.cache_folder.clear();  // with which it might take the word of an earlier worker
    session.emplace(options);
    const wire::HelloReplyT& hello = session->worker_info();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    diagnosis.xla_version = hello.xla_version;
    return {"worker", CheckStatus::Ok,
            fmt::format("XLA of {} starts and tests itself in {:.1f} s", hello.xla_version, seconds.count())};
  }));
  if (diagnosis.checks.back().status == CheckStatus::Failed) return;  // the checks below need a worker
  diagnosis.checks.push_back(seams_check(session->worker_info()));
  const std::string site = folder_of_wheels();
  for (Check (*check)(const std::string&) : {wheel_check, onednn_check, jax_check})
    diagnosis.checks.push_back(check(site));
  diagnosis.checks.push_back(checked("timing", "see hone worker", [&] {
    session->load(kProbe, "doctor");
    diagnosis.duel = duel_with_itself(*session);
    return timing_check(*diagnosis.duel, disturbed_share());
  }));
  diagnosis.checks.push_back(linear_algebra_check(*session));
}

// Only training and networks need the library, so that its absence is no failure.
Check library_check() {
  const char* name = "learning library";
  try {
    cost::learn_symbol("hone_learn_abi");
    return {name, CheckStatus::Ok, "libhone_learn.so opens"};
  } catch (const Error& error) {
    return {name, CheckStatus::Warning, described(error), error.hint() + ", to train models"};
  }
}

void read_model(const std::string& path) {
  const fs::path ending = fs::path(path).extension();
  if (ending == ".json")
    tune::Calibration::load(path, "");
  else if (ending == ".safetensors")
    options::read_safetensors(path);
  else if (fs::path(path).filename() == "code")
    cost::CodeModel::open(path, features::this_cpu(1));
  else
    cost::load_learned_model(path);
}

// The nearest existing folder above a file.
fs::path nearest_folder(const std::string& path) {
  std::error_code none;
  fs::path folder = fs::absolute(path).parent_path();
  while (folder.has_relative_path() && !fs::exists(folder, none)) folder = folder.parent_path();
  return folder;
}

}  // namespace

const char* check_status_name(CheckStatus status) {
  switch (status) {
    case CheckStatus::Ok:
      return "ok";
    case CheckStatus::Warning:
      return "warning";
    case CheckStatus::Failed:
      return "failed";
  }
  throw InternalError("check_status_name: no such value");
}

bool Diagnosis::failed() const {
  return std::any_of(checks.begin(), checks.end(), [](const Check& c) { return c.status == CheckStatus::Failed; });
}

Check cores_check(const Machine& machine) {
  const std::string detail = fmt::format("{}: {} physical, {} logical, {} of them usable", machine.cpu,
                                         machine.physical_cores, machine.logical_cores, machine.usable_cores);
  if (machine.usable_cores > 1) return {"cores", CheckStatus::Ok, detail};
  return {"cores", CheckStatus::Warning, detail,
          "run no other programs while tuning: they share the only core with the worker"};
}

Check memory_check(const Machine& machine) {
  const std::string detail = fmt::format("{}, {} available", human_bytes(static_cast<double>(machine.memory_bytes)),
                                         human_bytes(static_cast<double>(machine.available_bytes)));
  if (machine.available_bytes >= kLittleMemory) return {"memory", CheckStatus::Ok, detail};
  return {"memory", CheckStatus::Warning, detail,
          "large programs may need more: end other programs, or give --memory-limit, so that the worker is not killed"};
}

Check instruction_set_check(const std::string& isa) {
  const std::string detail = fmt::format("{}, vectors of {} bits", isa, isa_vector_bits(isa));
  if (isa == "avx512" || isa == "avx2") return {"instruction set", CheckStatus::Ok, detail};
  return {"instruction set", CheckStatus::Warning, detail,
          "the shipped models know AVX2 and AVX-512 and predict worse here; measured results are not affected"};
}

Check speed_check(const MachineSpeed& speed) {
  std::vector<std::string> reads;
  const std::pair<const char*, double> levels[] = {{"first-level cache", speed.read_l1},
                                                   {"second", speed.read_l2},
                                                   {"third", speed.read_l3},
                                                   {"memory", speed.read_memory}};
  for (const auto& [level, read] : levels)
    if (read > 0) reads.push_back(fmt::format("{:.0f} from {}", read, level));
  return {"speed of a core", CheckStatus::Ok,
          fmt::format("{:.0f} GFLOP/s; reads, GB/s: {}", speed.flops, fmt::join(reads, ", "))};
}

// Which rights the processes that compile programs give up.
Check sandbox_check() {
  const Sandbox has = sandbox_support();
  const char* setting = std::getenv("HONE_SANDBOX");
  if (setting && std::string_view(setting) == "off")
    return {"sandbox", CheckStatus::Warning, "workers keep all your rights (HONE_SANDBOX=off)", "unset HONE_SANDBOX"};
  if (has.whole())
    return {
        "sandbox", CheckStatus::Ok,
        fmt::format("workers have no network, start no programs and write to the cache alone (Landlock {}, seccomp)",
                    has.landlock)};
  return {"sandbox", CheckStatus::Warning,
          fmt::format("workers keep rights that they do not need: this kernel has {}",
                      has.seccomp        ? "no Landlock, so they read and write your files"
                      : has.landlock > 0 ? "no seccomp, so they have the network"
                                         : "neither Landlock nor seccomp"),
          "use a kernel with both (Linux 5.13 or newer) for programs of people you do not trust"};
}

Check gains_check(const std::string& models, const std::string& machine) {
  const std::string path = cost::shipped_model("tile-gains.json", models);
  if (path.empty()) return {"known gains", CheckStatus::Warning, "none are found", "see models"};
  return checked("known gains", "restore the file from the repository", [&]() -> Check {
    const tune::Calibration gains = tune::Calibration::load(path, machine);
    if (gains.kernels > 0)
      return {"known gains", CheckStatus::Ok,
              fmt::format("{}: {} kernels of {} programs", machine, gains.kernels, gains.programs)};
    return {"known gains", CheckStatus::Warning, fmt::format("none of machines like this ({})", machine),
            "hone optimize takes those of similar machines, if there are, and lets a duel decide; hone tune measures "
            "anyway"};
  });
}

Check own_kernels_check(const std::string& database, const std::string& host) {
  const size_t measured = cost::measured_on(database, host).kernels.size();
  if (measured >= cost::kLeastKernels)
    return {"own kernels", CheckStatus::Ok,
            fmt::format("{} measured here: predicted run times are corrected where they show that it helps", measured)};
  return {
      "own kernels", CheckStatus::Ok,
      "none measured here; on a machine unlike those of the shipped models 'hone collect machine' makes predictions "
      "better"};
}

Check timing_check(const tune::Measurement& duel, double disturbed) {
  if (!duel.ok())
    return {"timing", CheckStatus::Failed, fmt::format("{}: {}", tune::outcome_name(duel.outcome), duel.note),
            "XLA cannot run a small program: see hone worker"};
  const double spread = (duel.ratio_high - duel.ratio_low) / 2;
  const std::string detail = fmt::format(
      "a program against itself: {:.4f} [{:.4f}, {:.4f}], a spread of {:.2f} %; slowed down by others for {:.0f} % of "
      "0.3 s",
      duel.ratio, duel.ratio_low, duel.ratio_high, 100 * spread, 100 * disturbed);
  const std::string hint = "end other programs and fix the CPU's frequency";
  const double missed = std::max(duel.ratio_low - 1, 1 - duel.ratio_high);
  if (missed > tune::Duel().precision)
    return {"timing", CheckStatus::Failed, detail + ", which does not contain 1",
            hint + ": measured ratios are biased"};
  if (missed > 0 || spread > kWideSpread)
    return {"timing", CheckStatus::Warning, detail, hint + ": smaller gains cannot be measured"};
  if (disturbed > kMuchDisturbed)
    return {"timing", CheckStatus::Warning, detail,
            "something else uses this core, on a shared host perhaps another virtual machine: ratios can be measured, "
            "run times not"};
  return {"timing", CheckStatus::Ok, detail};
}

Check models_check(const std::string& models) {
  std::vector<std::string> missing, broken;
  for (const char* name : kModels) {
    const std::string path = cost::shipped_model(name, models);
    if (path.empty()) {
      missing.push_back(name);
      continue;
    }
    try {
      read_model(path);
    } catch (const Error& error) {
      broken.push_back(described(error));
    }
  }
  if (!broken.empty())
    return {"models", CheckStatus::Failed, fmt::format("{}", fmt::join(broken, "; ")),
            "restore the files from the repository, or train them again: make models"};
  if (!missing.empty())
    return {"models", CheckStatus::Warning, fmt::format("missing: {}", fmt::join(missing, ", ")),
            "data/models must lie beside the build folder, or be given with --models; hone tune works without"};
  return {"models", CheckStatus::Ok, fmt::format("all {} found and readable", std::size(kModels))};
}

Check database_check(const std::string& given) {
  return checked("database", "give another one with --db", [&]() -> Check {
    const std::string path = database_path(given);
    const bool server = is_postgres_url(path);
    std::error_code none;
    if (server || fs::exists(path, none)) {
      Database::try_writing(path);
      return {"database", CheckStatus::Ok, (server ? without_password(path) : path) + " is writable"};
    }
    const fs::path folder = nearest_folder(path);
    if (!fs::is_directory(folder, none) || ::access(folder.c_str(), W_OK | X_OK) != 0)
      throw Error("cannot create a database in " + folder.string(), path);
    return {"database", CheckStatus::Ok, path + " does not exist yet and can be created"};
  });
}

Diagnosis diagnose(const DoctorRequest& request) {
  Diagnosis diagnosis{.machine = this_machine(), .record = features::this_machine_record("", 1)};
  diagnosis.checks = {cores_check(diagnosis.machine), memory_check(diagnosis.machine),
                      instruction_set_check(diagnosis.record.isa), speed_check(diagnosis.record.speed)};
  check_worker(request, diagnosis);
  diagnosis.checks.push_back(sandbox_check());
  diagnosis.checks.push_back(library_check());
  diagnosis.checks.push_back(models_check(request.models));
  diagnosis.checks.push_back(gains_check(request.models, features::machine_class(diagnosis.record)));
  diagnosis.checks.push_back(checked("own kernels", "remove the file, and run hone collect machine",
                                     [] { return own_kernels_check(cost::machine_database(), this_host()); }));
  diagnosis.checks.push_back(database_check(request.database));
  diagnosis.checks.push_back(cache_check(cache_folder("")));
  return diagnosis;
}

}  // namespace hone::request
