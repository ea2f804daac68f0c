// One program loaded by one worker: turns the tuners' calls into requests, failures into outcomes, and every measured
// candidate into a row of the database.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core_probe.h"
#include "data/database.h"
#include "data/npz.h"
#include "graph/made_with.h"
#include "graph/run_slice.h"
#include "tune/session/measurer.h"
#include "tune/session/output_check.h"
#include "tune/session/precision.h"
#include "tune/session/preparer.h"
#include "wire/client.h"

namespace hone::tune {

// Of an operation that another form replaces: its largest error against f64, in multiples of default XLA's.
inline constexpr double kMostError = 16, kExactError = 4;

// How a program is compiled and run.
struct Target {
  int threads = 1;
  uint64_t seed = 0;         // for generated inputs
  std::vector<int> weights;  // numbers of parameters that are constant between calls, ascending
  bool allow_fast_math = false;
  std::string precision = {};  // what the program was converted to (precision.h); empty = as it was written
  bool exact = false;          // rounding errors of rewritten operations at most kExactError times default XLA's
  std::string max_isa = {};    // widest instruction set of the code XLA generates (base/isa.h); empty = the CPU's

  void validate() const;  // throws Error, also for a limit beyond this CPU
};

// "0,3-9": the inverse of parse_index_list for ascending indices.
std::string index_list_text(const std::vector<int>& indices);

struct SessionOptions {
  Target target;
  wire::WorkerOptions worker;
  bool prepare = false;  // compile likely candidates on CPUs that measure nothing, where there are any
  double budget_s = 0;   // of the search, counted from begin_search() or the start of the session; 0 = no limit
};

// Runs of a program one after the other, the second half of them under XLA's profiler.
struct TimedRuns {
  std::vector<double> times_ns;  // without the profiler
  std::vector<RunSlice> slices;  // by start; empty where XLA has no profiler
};

// Distinct candidates: kernel options and decision lists.
struct Counters {
  int64_t candidates = 0;  // measured, with any outcome
  int64_t rejected = 0;    // outputs differ or could not be verified
  int64_t failed = 0;      // did not compile, crashed, took too long
};

class Session : public Measurer {
 public:
  explicit Session(SessionOptions options);
  Session(const Session&) = delete;  // the worker's poll refers to it
  Session& operator=(const Session&) = delete;

  // Records all later measurements; known() reads from it if `reuse_kernels`. The database must outlive the session.
  void use_database(Database& database, bool reuse_kernels);
  // Throws Error for a program XLA cannot read. `name` is for messages.
  void load(const std::string& bytes, const std::string& name);
  // Arrays named arr_0, arr_1, ... after the parameters' numbers; under other names, in the order of the parameters.
  // Throws Error when they do not match the parameters in number or shape. Without inputs the worker uses those in the
  // program file (a snapshot), else generates them from the target's seed.
  void set_inputs(std::vector<NamedArray> arrays);

  // Records all later measurements of kernels under this program's fingerprint; the program need not be loaded.
  void record_as(const std::string& program) { program_.program = program; }

  const wire::LoadReplyT& program() const { return program_; }
  const std::string& name() const { return name_; }  // as given to load()
  const wire::HelloReplyT& worker_info();            // requested at the first call
  std::string host();                                // host_text(), as records name it
  MadeWith made_with(const std::string& max_isa);    // this machine and build, under a limit of the instruction set
  const Target& target() const { return options_.target; }
  const Counters& counters() const { return counters_; }
  // Of given or snapshot inputs; empty when they are generated.
  const std::string& inputs_fingerprint() const { return inputs_fingerprint_; }

  // With `want_protos`, kernels include their modules in binary form.
  wire::LowerReplyT lower_reply(const Decisions& decisions, bool want_fusion, bool want_protos = false);
  // The layouts that can be decided, and the program as XLA's layout assignment receives it; of `under` only decisions
  // about passes are applied.
  wire::ListLayoutsReplyT list_layouts(const Decisions& under = {});
  // Only the kernels of lower(), for scoring many fusion configurations. Fingerprints depend on a kernel's content
  // alone; those of lower() also depend on the name XLA gave the fused computation, so one kernel can have several. The
  // program's fingerprint is made from those of its kernels, their counts and runs. Options have no tiles, dimensions have no
  // weights, and a kernel keeps the name it first had. The worker runs XLA's passes before fusion once per list of
  // decisions other than fusion, and describes each kernel once.
  Lowered lower_kernels(const Decisions& decisions);
  // The loaded program with its weights in a lower precision (precision.h), to load; throws Error where no weight can be. `report`: how
  // many.
  std::string converted(const std::string& precision, PrecisionReport& report);
  // The loaded program, converted, beside the original.
  void judge_precision(const std::string& original, const Decisions& decisions, PrecisionReport& report);
  wire::RunReplyT run(const Decisions& decisions, int repeat, bool want_outputs);
  // The program for another process: StableHLO under the decisions that can be written out, and settings for others.
  wire::ExportReplyT exported(const Decisions& decisions);
  // What the program runs on, one array per parameter, named arr_0, arr_1, ...
  std::vector<NamedArray> inputs();
  // Outputs that another process had for these inputs, judged as a candidate's; no times.
  Measurement judge_outputs(std::vector<NamedArray> outputs);
  // The outputs under the decisions beside default XLA's on inputs of one kind, without times; of no decisions those of a second run.
  // Does not throw for a failing candidate. Throws RunError where default XLA fails.
  OutputCheck check_outputs(const Decisions& decisions, InputKind kind, double limit_s);
  // Default XLA's outputs beside those of XLA's HLO interpreter, which runs small programs alone: else unverified, and why.
  OutputCheck check_interpreter(InputKind kind, double limit_s);
  // Names of XLA's passes that agents choose from: they change no numerics.
  std::vector<std::string> default_passes();
  // What XLA makes of the program for one of several devices (wire/hone.fbs). Throws Error for shardings that do not fit.
  wire::PartitionReplyT partitioned(const wire::PartitioningT& partitioning, bool want_hlo = false);
  // Runs on host devices, all taking turns, beside one device; of `duel` rounds, budget and limit.
  wire::RunShardedReplyT run_sharded(const std::vector<wire::PartitioningT>& candidates, const Duel& duel);
  // run() with `runs` runs under XLA's profiler; no slices if there is no profiler.
  TimedRuns profile(const Decisions& decisions, int runs);

  Lowered lower(const Decisions& decisions, bool want_fusion) override;
  Lowered lower_to_predict(const Decisions& decisions) override { return lower_kernels(decisions); }
  Measurement measure_kernel(const Kernel& kernel, const std::string& value, const Duel& duel) override;
  Measurement measure_program(const Decisions& candidate, const Decisions& baseline, const Duel& duel) override;
  InPlaceDuel measure_in_place(const Decisions& candidate, const Decisions& baseline,
                               const std::vector<const Kernel*>& kernels, const Duel& duel) override;
  // With several threads, what a thread waits for would count as its kernel's time.
  bool times_in_place() const override { return options_.target.threads == 1; }
  // The ELF objects that XLA generates for a kernel under this value of its decision ("" = default XLA's), none where libraries run it.
  // Throws Error where XLA cannot compile it or its worker dies of it.
  std::vector<std::string> compiled_code(const Kernel& kernel, const std::string& value);
  // Nothing without a shared cache, with several threads, or where all CPUs measure.
  Measurement verify_on(const Decisions& candidate, InputKind inputs, double limit_s) override;
  void prepare(const std::vector<Decisions>& candidates) override;
  KnownKernel known(const Kernel& kernel) override;
  void remember(const Kernel& kernel, const KnownKernel::Best& best) override;
  double seconds_left() const override;
  std::map<std::string, double> instruction_times(const Decisions& decisions, int runs) override;
  void fresh_process() override { worker_.kill(); }
  void begin_confirmation() override;
  // The budget counts from here; undoes begin_confirmation().
  void begin_search();

 private:
  std::unique_ptr<wire::TargetT> wire_target() const;
  void set_up_preparing(const std::string& bytes);
  OutputCheck check(const Decisions& decisions, InputKind kind, bool interpreter, double limit_s);
  // `in_place`: receives the kernels' measurements of a request that names some.
  Measurement duel(wire::MeasureRequestT request, const Duel& duel, std::vector<Measurement>* in_place = nullptr);
  wire::MeasureRequestT program_request(const Decisions& candidate, const Decisions& baseline) const;
  void record_program(const Decisions& candidate, const Decisions& baseline, const Measurement& measurement);
  void record_kernel(const Kernel& kernel, const std::string& value, const Measurement& measurement,
                     const char* scope = "kernel");
  void count(const std::string& candidate, const Measurement& measurement);
  // Adds a row of this measurement, with what all rows of the session share.
  void record(Record row, const Measurement& measurement);
  void poll();  // throws Stopped when a request has no time left

  SessionOptions options_;
  Database* database_ = nullptr;
  bool reuse_kernels_ = true;
  wire::Worker worker_;
  std::chrono::steady_clock::time_point start_;
  std::optional<std::chrono::steady_clock::time_point> interrupted_at_;
  std::set<std::string> interpreted_;  // decisions whose outputs were compared with the HLO interpreter's
  bool killed_ = false;                // the worker of the last duel was killed by a signal from outside
  bool confirming_ = false;
  bool beyond_budget_ = false;  // the current request may exceed the budget; an interrupt still ends it
  wire::LoadReplyT program_;
  std::optional<wire::HelloReplyT> info_;
  std::string name_, inputs_fingerprint_;
  std::string original_;  // the program that converted() was made of
  Counters counters_;
  std::set<std::string> counted_;
  int measuring_cpu_ = -1;                // while others prepare
  CoreBest core_best_;                    // what duels wait for
  std::unique_ptr<Preparer> preparer_;    // null where nothing is prepared
  std::map<uint64_t, Kernel> described_;  // by hash64 of the fingerprint, from lower_kernels()
};

}  // namespace hone::tune
