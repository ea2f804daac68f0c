// Collects measured kernels for the data sets of the learned performance model.
//
// First every program is lowered, under XLA's own fusion and under random fusion configurations, and its distinct
// kernels are stored in the database with their modules. Then the kernels are measured, alternating between programs,
// and every measurement is stored at once: the next collection continues from there, however this one ends.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/database.h"
#include "data/default_run_time.h"
#include "features/machine_record.h"
#include "tune/session/measurer.h"

namespace hone::collect {

// What the random configurations of a program decide: edges of fusion, layouts of instructions, or forms of operations and options of
// XLA (search/operation_forms.h).
enum class Varied : int8_t { Fusion, Layouts, Forms };

// Tile: every kernel's options. Fusion: every kernel's default option, measured with more care.
enum class CollectKind : int8_t { Tile, Fusion };
CollectKind collect_kind_from_name(const std::string& name);  // "tile", "fusion"; throws Error

struct CollectProgram {
  std::string name, file, family;
};
// A JSON list of {"name", "file", "family"}; files are relative to the manifest's folder, the family defaults to the
// name. Throws Error (where = the manifest and the entry).
std::vector<CollectProgram> read_manifest(const std::string& path);

struct CollectOptions {
  CollectKind kind = CollectKind::Tile;
  int max_options = 24;     // of one kernel, the default one among them; 0 = all
  int max_per_program = 0;  // kernels; 0 = all
  // Measurements of each candidate, each in another process: all candidates are visited once before any is visited again, since a kernel's
  // time differs more between processes and minutes than within one duel.
  int visits = 1;
  bool cold = false;       // all inputs leave the caches before each run; these times are stored beside the others
  int configurations = 0;  // random ones per program; 0 = 6 for tiles, 40 for fusion
  Varied varied = Varied::Fusion;
  uint64_t seed = 0;  // of configurations, samples of options and inputs
  int threads = 1;
  std::string max_isa = {};   // limit of the instruction set (base/isa.h); empty = the CPU's
  double gather_share = 0.3;  // of the time, at most, for lowering; every program is lowered once in any case
  // One tile in 250 compiles for longer than 3 s; these take a third of all time, and nearly all are slower than the
  // default.
  tune::Duel quick{
      .min_rounds = 3, .max_rounds = 8, .budget_ms = 40, .precision = 0.03, .abandon_ratio = 0.5, .limit_s = 5};
  tune::Duel careful{.min_rounds = kCarefulRounds,
                     .max_rounds = 16,
                     .budget_ms = 80,
                     .precision = 0.015,
                     .patience_ms = 500,
                     .limit_s = 20};

  void validate() const;  // throws Error
};

struct CollectProgress {
  std::string doing;            // "lowering", "measuring"
  int64_t done = 0, total = 0;  // programs while lowering, candidates while measuring
  std::string program;
  int64_t known = 0;  // of `done`, what earlier runs have measured
};

struct CollectReport {
  int programs = 0, programs_failed = 0;
  int64_t configurations = 0, configurations_failed = 0;   // lowered in this run
  int64_t kernels = 0, kernels_new = 0;                    // of these programs in the database; added by this run
  int64_t planned = 0, known = 0;                          // measurements in all; made before this run
  int64_t measured = 0, ok = 0, rejected = 0, failed = 0;  // in this run
  double lowering_s = 0, measuring_s = 0;
  bool complete = false;  // everything planned was measured
};

// The kernels of one lowering, and what else can be decided.
struct FoundKernels {
  std::vector<StoredKernel> kernels;  // program and family left empty
  std::vector<Dimension> dimensions;  // edges of fusion among them
};

// One program open for lowering.
class KernelSource {
 public:
  virtual ~KernelSource() = default;
  virtual std::string fingerprint() const = 0;
  virtual FoundKernels lower(const Decisions& decisions) = 0;  // throws Error, RunError or Stopped
  // At most `count` random layouts of the whole program, the same for the same seed (data/layout_space.h).
  virtual std::vector<Decisions> layouts(int count, uint64_t seed) = 0;  // throws as lower()
};

// The machine as a collection uses it: make_collect_measurer() returns the real one; tests answer from a table.
class CollectMeasurer {
 public:
  virtual ~CollectMeasurer() = default;
  virtual std::unique_ptr<KernelSource> open(const std::string& bytes, const std::string& name) = 0;  // throws Error
  // Measures and records in the database, as a kernel of the program with this fingerprint. Throws only Stopped.
  virtual tune::Measurement measure(const StoredKernel& kernel, const std::string& value, const tune::Duel& duel,
                                    const std::string& program_fingerprint) = 0;
  // The ELF objects of its default option; throws Error where XLA cannot compile it by itself.
  virtual std::vector<std::string> code(const StoredKernel& kernel) = 0;
  virtual void fresh_process() = 0;   // the next measurement is one in another process
  virtual double seconds_left() = 0;  // finite; 0 after an interrupt
  virtual std::string host() = 0;
  virtual std::string xla_version() = 0;
  virtual features::MachineRecord machine() = 0;  // that measures; its host is host()
};

// Workers measure; memory_limit_bytes as in wire::WorkerOptions.
std::unique_ptr<CollectMeasurer> make_collect_measurer(Database& database, const CollectOptions& options,
                                                       double budget_s, int64_t memory_limit_bytes);

// Throws Error when two programs have the same name or none can be lowered. A program that fails is logged and skipped.
CollectReport collect(const std::vector<CollectProgram>& programs, Database& database, CollectMeasurer& measurer,
                      const CollectOptions& options, const std::function<void(const CollectProgress&)>& on_progress);

// The values of a kernel's options to measure, the default one first; for Tile and above max_options a space-filling
// sample. The same for the same kernel and seed.
std::vector<std::string> planned_options(const StoredKernel& kernel, const CollectOptions& options);

struct ExportOptions {
  CollectKind kind = CollectKind::Tile;
  int threads = 1;
  std::string host;         // empty = the one with most rows
  std::string xla_version;  // empty = the one with most rows
  bool cold = false;        // run times with inputs out of the caches
};

// The hosts with measurements of this number of threads, those with most rows first.
std::vector<std::string> measured_hosts(const Database& database, int threads);
// A host's name as that of a folder: small letters and digits, joined by hyphens.
std::string host_folder(const std::string& host);

// The conditions with the most rows among those that the options allow. Throws Error when there is none.
MeasuredUnder measured_most(const Database& database, const ExportOptions& options);

// Run times of a kernel's measured options, in ns, by index of the option: the default's (median over its duels) over the option's
// ratio. Empty unless two options were measured.
std::map<int, double> tile_run_times(const StoredKernel& kernel, const std::vector<Record>& rows);

struct ExportReport {
  std::string host, xla_version;
  int64_t kernels = 0, options = 0, programs = 0;
  int64_t left_out = 0;  // kernels with too few valid run times
  int64_t refused = 0;   // kernels whose module cannot be encoded; the first reason is logged
};

// Writes a data set's shards, and the record of its machine if the database has it. Tile: kernels with at least two measured options, the run time of each being the default's
// (median over its duels) over the option's ratio. Fusion: kernels whose default was measured, by default_run_time(). Throws Error when there is nothing to write.
ExportReport export_dataset(const Database& database, const std::string& folder, const ExportOptions& options);

}  // namespace hone::collect
