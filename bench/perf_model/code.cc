// Compiles the kernels of a data set again, without running any, and keeps the machine code: what bench_kernel_rows computes features of
// code from. Of a data set of run times the default options, of one of options all that it has. Goes on where it was stopped; kernels
// come in no order of programs, so that a part of the collection is a sample.
//
//   bench_kernel_code DATABASE DATA_SET_FOLDER CODE_FOLDER CPU [SPLIT PART]
//
// CPU: that of the data set, as LLVM calls it (znver4), or "this"; a folder holds the code for one. A limit of the instruction set is given
// to XLA where the measurements had one, and only there: under a limit XLA compiles for another CPU, avx512 being skylake-avx512. With a
// split only programs of that part.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/isa.h"
#include "bench/perf_model/measured_options.h"
#include "data/code_store.h"
#include "data/database.h"
#include "data/dataset.h"
#include "features/machine_record.h"
#include "wire/client.h"

using namespace hone;

namespace {

constexpr double kLimitSeconds = 60;
constexpr int kPerWorker = 1000;  // then a fresh one, which bounds the leaks of code generation

struct Totals {
  int64_t known = 0, compiled = 0, failed = 0;
};

class Compilation {
 public:
  Compilation(const Database& database, const std::string& folder, const features::MachineRecord& machine,
              std::string cpu)
      : database_(database),
        store_(folder),
        isa_(machine.isa),
        limit_(machine.isa == machine.cpu_isa ? "" : machine.isa),
        cpu_(std::move(cpu)),
        worker_({}) {}

  void add(const std::string& fingerprint, const std::string& option) {
    const CodeKey key{fingerprint, option, isa_, kXlaVersion};
    if (store_.find(key)) {
      ++totals_.known;
      return;
    }
    const auto kernel = database_.find_stored_kernel(fingerprint, /*threads=*/1);
    if (!kernel) throw Error("the database has no such kernel", fingerprint);
    const std::optional<KernelCode> code = code_of(kernel->hlo, option);
    ++(code && code->compiled ? totals_.compiled : totals_.failed);
    if (code) store_.add(key, *code);
    if ((totals_.compiled + totals_.failed) % kPerWorker == 0) worker_.kill();
  }
  const Totals& totals() const { return totals_; }

 private:
  // nullopt where the worker died or took too long, which another time it may not.
  std::optional<KernelCode> code_of(const std::string& hlo, const std::string& option) {
    wire::CompileRequestT request;
    request.kernel_hlo = hlo;
    request.kernel_value = option;
    request.cpu = cpu_;
    request.target = std::make_unique<wire::TargetT>();
    request.target->max_isa = limit_;
    KernelCode code;
    try {
      const auto reply = worker_.call<wire::CompileReplyT>(std::move(request), kLimitSeconds);
      for (const auto& object : reply.objects) code.objects.emplace_back(object->bytes.begin(), object->bytes.end());
    } catch (const wire::NoWorker&) {
      throw;
    } catch (const wire::WorkerFailure& died) {
      std::fprintf(stderr, "not compiled: %s\n", died.what());
      return std::nullopt;
    } catch (const Error& failed) {
      std::fprintf(stderr, "not compiled: %s\n", failed.what());
      code.compiled = false;
    }
    return code;
  }

  const Database& database_;
  CodeStore store_;
  std::string isa_;
  std::string limit_;  // empty = none
  std::string cpu_;    // empty = this one
  wire::Worker worker_;
  Totals totals_;
};

// Kernels and values of their options.
using Plan = std::vector<std::pair<std::string, std::vector<std::string>>>;

Plan plan_of(const Database& database, const std::string& folder, const std::string& host,
             const std::vector<std::string>* programs) {
  const Dataset data = Dataset::open(folder);
  Plan plan;
  for (int64_t i = 0; i < data.size(); ++i) {
    const KernelView kernel = data.kernel(i);
    if (programs && std::find(programs->begin(), programs->end(), kernel.program) == programs->end()) continue;
    std::vector<std::string> options = {""};
    if (kernel.options() > 1) options = bench::measured_options(database, kernel, host);
    plan.emplace_back(kernel.fingerprint, std::move(options));
  }
  std::sort(plan.begin(), plan.end());
  return plan;
}

void compile_all(Compilation& compilation, const Plan& plan) {
  const double start_s = steady_s();
  for (size_t i = 0; i < plan.size() && !interrupted(); ++i) {
    for (const std::string& option : plan[i].second) compilation.add(plan[i].first, option);
    if (i % 100 != 0 && i + 1 != plan.size()) continue;
    const Totals& t = compilation.totals();
    std::printf("%zu of %zu kernels: %lld compiled, %lld failed, %lld known, %.0f s\n", i + 1, plan.size(),
                static_cast<long long>(t.compiled), static_cast<long long>(t.failed), static_cast<long long>(t.known),
                seconds_since(start_s));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** values) try {
  if (count != 5 && count != 7) {
    std::fprintf(stderr, "bench_kernel_code DATABASE DATA_SET_FOLDER CODE_FOLDER CPU [SPLIT PART]\n");
    return 2;
  }
  const std::string cpu = values[4];
  const auto machine = features::read_machine_file(values[2]);
  if (!machine) throw Error("the data set does not say on which machine it was measured", values[2]);
  check_max_isa(machine->isa, cpu_isa());
  install_interrupt_handler();
  const Database database = Database::open(values[1], {.read_only = true});
  std::optional<Split> split;
  if (count == 7) split = Split::read(values[5]);
  const std::vector<std::string>* programs = nullptr;
  if (split) {
    const std::string part = values[6];
    if (part != "train" && part != "validation" && part != "test") throw Error("no such part of a split", part);
    programs = part == "train" ? &split->train : part == "test" ? &split->test : &split->validation;
  }
  Compilation compilation(database, values[3], *machine, cpu == "this" ? "" : cpu);
  compile_all(compilation, plan_of(database, values[2], machine->host, programs));
  return interrupted() ? 130 : 0;
} catch (const hone::Error& e) {
  std::fprintf(stderr, "%s %s\n", e.what(), e.where().c_str());
  return 1;
}
