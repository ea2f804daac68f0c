// A collection of two programs with kernels that no machine measures, for tests.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "collect/collect.h"
#include "tests/tune/fake_measurer.h"

namespace hone::collect {

inline StoredKernel found_kernel(const std::string& fingerprint,
                                 std::vector<std::string> options = {"default", "loop", "tile=8,8"}) {
  StoredKernel kernel;
  kernel.fingerprint = fingerprint;
  kernel.kind = "fusion";
  kernel.name = "fusion." + fingerprint;
  kernel.decision = "kernel";
  kernel.options = std::move(options);
  kernel.hlo = "HloModule " + fingerprint;
  kernel.module_proto = fingerprint;
  return kernel;
}

// Kernels by program: those of XLA's own fusion, then one more per other configuration.
class FakeCollectMeasurer : public CollectMeasurer {
 public:
  explicit FakeCollectMeasurer(Database& database) : database_(database) {}

  std::map<std::string, std::vector<StoredKernel>> programs;  // by name
  std::function<tune::Measurement(const StoredKernel&, const std::string&)> answer = [](auto&, auto&) {
    return tune::measured(1.25);
  };
  std::set<std::string> unreadable;
  int left = 1000000;   // measurements until the time is over
  int stop_after = -1;  // throws Stopped at this measurement; -1 = never
  bool lowering_dies = false;
  std::vector<std::string> measured_values;  // "kernel value"
  std::vector<Decisions> lowered;

  class Source : public KernelSource {
   public:
    Source(FakeCollectMeasurer& measurer, std::string name) : measurer_(measurer), name_(std::move(name)) {}
    std::string fingerprint() const override { return "fp-" + name_; }
    FoundKernels lower(const Decisions& decisions) override {
      measurer_.lowered.push_back(decisions);
      if (!decisions.empty() && measurer_.lowering_dies) throw RunError("the worker crashed");
      FoundKernels found{measurer_.programs.at(name_), {}};
      if (!decisions.empty()) found.kernels.push_back(found_kernel(name_ + to_text(decisions)));
      for (const char* edge : {"a>b", "b>c", "c>d", "d>e"})
        found.dimensions.push_back({DecisionKind::Fusion, edge, {"keep", "fuse"}, 1});
      for (const char* reduction : {"reduce:add:f32[8,4]->f32[8]:1", "reduce:add:f32[8]->f32[]:0"})
        found.dimensions.push_back({DecisionKind::Library, reduction, {"compiled", "ynn"}, 0});
      return found;
    }
    std::vector<Decisions> layouts(int count, uint64_t) override {
      std::vector<Decisions> two = {{{DecisionKind::Layout, "dot.1", "0,1"}}, {{DecisionKind::Layout, "dot.1", "1,0"}}};
      two.resize(std::min(count, 2));
      return two;
    }

   private:
    FakeCollectMeasurer& measurer_;
    std::string name_;
  };

  std::unique_ptr<KernelSource> open(const std::string&, const std::string& name) override {
    if (unreadable.count(name)) throw Error("XLA cannot load this program");
    return std::make_unique<Source>(*this, name);
  }
  tune::Measurement measure(const StoredKernel& kernel, const std::string& value, const tune::Duel& duel,
                            const std::string& program) override {
    if (stop_after >= 0 && stop_after-- == 0) throw tune::Stopped();
    --left;
    measured_values.push_back(kernel.fingerprint + " " + value);
    tune::Measurement m = answer(kernel, value);
    Record row;
    row.scope = kernel_scope(duel.cold);
    row.program = program;
    row.kernel = kernel.fingerprint;
    row.decisions = value;
    row.status = tune::outcome_name(m.outcome);
    row.verified = m.ok();
    row.baseline_ns = m.baseline_ns;
    row.candidate_ns = m.candidate_ns;
    row.ratio = m.ratio;
    row.compile_ms = m.compile_ms;
    row.ratio_low = m.ratio_low;
    row.ratio_high = m.ratio_high;
    row.rounds = m.ok() ? duel.min_rounds : 0;
    row.host = host();
    row.xla_version = xla_version();
    database_.add(row);
    return m;
  }
  std::vector<std::string> code(const StoredKernel& kernel) override {
    if (kernel.fingerprint == "b") throw RunError("XLA does not compile it");
    return {"object of " + kernel.fingerprint};
  }
  double seconds_left() override { return left > 0 ? left : 0; }
  std::string host() override { return "cpu, 2 cores"; }
  std::string xla_version() override { return "2.21.0"; }
  void fresh_process() override { measured_values.emplace_back("fresh"); }
  features::MachineRecord machine() override {
    return {.host = host(),
            .cpu = "cpu",
            .isa = "avx2",
            .cpu_isa = "avx2",
            .properties = {.vector_bits = 256, .library_bits = 256, .l2_bytes = 1 << 20},
            .speed = {.flops = 50}};
  }

 private:
  Database& database_;
};

struct Fixture {
  TempDir folder;
  Database database = Database::open(folder.path() / "kernels.db");
  CollectOptions options;
  std::vector<CollectProgram> programs;

  FakeCollectMeasurer measurer() {
    FakeCollectMeasurer measurer(database);
    for (const char* name : {"first", "second"}) {
      if (programs.size() < 2) {
        write_file(folder.path() / name, std::string("HloModule ") + name);
        programs.push_back({name, folder.path() / name, "family"});
      }
      measurer.programs[name] = {found_kernel(std::string(name) + "-1"), found_kernel(std::string(name) + "-2")};
    }
    options.configurations = 1;
    return measurer;
  }
  CollectReport run(FakeCollectMeasurer& measurer) {
    return collect(programs, database, measurer, options, [](const CollectProgress&) {});
  }
};

}  // namespace hone::collect
