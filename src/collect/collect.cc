#include "collect/collect.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/rng.h"
#include "base/suggest.h"
#include "base/text.h"
#include "graph/kernel_option.h"
#include "report/program_file.h"
#include "search/operation_forms.h"
#include "search/random_fusion.h"
#include "tune/kernel/kernel_moves.h"

namespace hone::collect {

namespace {

constexpr int kTileConfigurations = 6, kFusionConfigurations = 40;
constexpr int kDeathsPerKernel = 3;  // after this many worker deaths the kernel's other options are skipped
// Tiles that compile for longer take half of all compile time, and are the best option of 12 in 1,765 kernels with such
// tiles.
constexpr double kSlowCompileMs = 250;
constexpr int kFailed = 1000000;          // visits of a candidate that is not tried again
constexpr size_t kLargestHlo = 4u << 20;  // bytes of text: kernels with large constants folded in

// 0 for an option without a tile.
int64_t tile_elements(const std::string& value) {
  const std::vector<int64_t> tile = KernelOption::parse(value).tile;
  return tile.empty() ? 0 : std::accumulate(tile.begin(), tile.end(), int64_t{1}, std::multiplies<>());
}

int configurations_of(const CollectOptions& options) {
  if (options.configurations > 0) return options.configurations;
  return options.kind == CollectKind::Tile ? kTileConfigurations : kFusionConfigurations;
}

// One collection.
class Collection {
 public:
  Collection(const std::vector<CollectProgram>& programs, Database& database, CollectMeasurer& measurer,
             const CollectOptions& options, const std::function<void(const CollectProgress&)>& on_progress)
      : programs_(programs), database_(database), measurer_(measurer), options_(options), on_progress_(on_progress) {}

  CollectReport run() {
    report_.programs = static_cast<int>(programs_.size());
    double start = steady_s();
    gather_all();
    report_.lowering_s = seconds_since(start);
    start = steady_s();
    measure_all();
    report_.measuring_s = seconds_since(start);
    return report_;
  }

 private:
  void gather_all() {
    std::string first_failure;
    const double stop_at = measurer_.seconds_left() * (1 - options_.gather_share);
    for (size_t i = 0; i < programs_.size() && measurer_.seconds_left() > 0; ++i) {
      const CollectProgram& program = programs_[i];
      on_progress_({"lowering", static_cast<int64_t>(i), static_cast<int64_t>(programs_.size()), program.name});
      // The remaining time for lowering is shared among the remaining programs.
      const double left = measurer_.seconds_left();
      const double until = left - std::max(0.0, left - stop_at) / static_cast<double>(programs_.size() - i);
      try {
        gather(program, until);
      } catch (const tune::Stopped&) {
        return;
      } catch (const Error& e) {
        ++report_.programs_failed;
        if (first_failure.empty()) first_failure = program.file + ": " + e.what();
        spdlog::warn("{} is skipped: {}", program.name, e.what());
      }
    }
    if (report_.programs_failed == report_.programs) throw Error("no program can be lowered", first_failure);
  }

  bool full(const CollectProgram& program) const {
    return options_.max_per_program > 0 && kernels_of(program).size() >= static_cast<size_t>(options_.max_per_program);
  }

  std::vector<StoredKernelSummary> kernels_of(const CollectProgram& program) const {
    return database_.stored_kernels(options_.threads, program.name, options_.max_per_program);
  }

  // Continues where an earlier collection stopped; ends when the measurer has `until` seconds left, after at least one
  // lowering.
  void gather(const CollectProgram& program, double until) {
    const report::ProgramFile file = report::read_program(program.file);
    const std::string content = hash_hex(file.bytes);
    StoredProgram stored{program.name, program.family, "", content, 0};
    if (const auto known = database_.find_stored_program(program.name)) {
      if (known->content != content)
        throw Error("the database has another program of this name", program.name,
                    "give it another name in a manifest");
      stored = *known;
    }
    const int wanted = 1 + configurations_of(options_);
    if (stored.configurations >= wanted || full(program)) return;
    if (stored.configurations > 0 && measurer_.seconds_left() <= until)
      return;  // opening it would cost as much as a lowering
    const std::unique_ptr<KernelSource> source = measurer_.open(file.bytes, program.name);
    stored.fingerprint = source->fingerprint();
    const FoundKernels own = source->lower({});
    if (stored.configurations == 0) finish(program, own, stored);
    const std::vector<Decisions> configurations = random_configurations(*source, own, program.name, wanted - 1);
    while (stored.configurations <= static_cast<int>(configurations.size()) && !full(program) &&
           measurer_.seconds_left() > until) {
      const Decisions& decisions = configurations[stored.configurations - 1];
      FoundKernels found;
      try {
        found = source->lower(decisions);
      } catch (const Error& e) {  // only this configuration breaks the compiler
        ++report_.configurations_failed;
        spdlog::debug("{}, configuration {}: {}", program.name, stored.configurations, e.what());
      }
      finish(program, found, stored);
    }
  }

  std::vector<Decisions> random_configurations(KernelSource& source, const FoundKernels& own,
                                               const std::string& program, int count) const {
    if (options_.varied == Varied::Layouts) return source.layouts(count, options_.seed);
    if (options_.varied == Varied::Forms) return sample_forms(own.dimensions, count, options_.seed);
    std::vector<Dimension> edges = own.dimensions;
    std::erase_if(edges, [](const Dimension& d) { return d.kind != DecisionKind::Fusion; });
    std::vector<Decisions> configurations;
    for (int n = 1; n <= count && !edges.empty(); ++n)
      configurations.push_back(random_fusion(edges, program, n, options_.seed));
    return configurations;
  }

  void finish(const CollectProgram& program, const FoundKernels& found, StoredProgram& stored) {
    for (StoredKernel kernel : found.kernels) {
      if (kernel.hlo.size() > kLargestHlo || kernel.options.empty()) continue;
      if (kernel.module_proto.empty()) throw InternalError("the worker sent a kernel without its module");
      kernel.program = program.name;
      kernel.family = program.family;
      kernel.threads = options_.threads;
      report_.kernels_new += database_.add_kernel(kernel);
    }
    ++stored.configurations;
    ++report_.configurations;
    database_.save_program(stored);
  }

  struct Queue {
    std::string fingerprint;  // of the program
    std::vector<StoredKernelSummary> kernels;
  };

  std::vector<Queue> plan() {
    std::vector<Queue> queues;
    for (const CollectProgram& program : programs_) {
      Queue queue;
      if (const auto stored = database_.find_stored_program(program.name)) queue.fingerprint = stored->fingerprint;
      queue.kernels = kernels_of(program);
      if (options_.kind == CollectKind::Tile)  // nothing to compare
        std::erase_if(queue.kernels, [](const StoredKernelSummary& kernel) { return kernel.options < 2; });
      report_.kernels += static_cast<int64_t>(queue.kernels.size());
      for (const StoredKernelSummary& kernel : queue.kernels) report_.planned += options_.visits * options_of(kernel);
      queues.push_back(std::move(queue));
    }
    return queues;
  }

  int options_of(const StoredKernelSummary& kernel) const {
    if (options_.kind == CollectKind::Fusion) return 1;
    return options_.max_options > 0 ? std::min(options_.max_options, kernel.options) : kernel.options;
  }

  void measure_all() {
    const std::vector<Queue> queues = plan();
    size_t longest = 0;
    for (const Queue& queue : queues) longest = std::max(longest, queue.kernels.size());
    try {
      for (visit_ = 1; visit_ <= options_.visits; ++visit_) {
        if (visit_ > 1) measurer_.fresh_process();
        if (!visit(queues, longest)) return;
      }
      report_.complete = true;
    } catch (const tune::Stopped&) {
    }
  }

  // Of every candidate that has had fewer visits. False when there is no time left.
  bool visit(const std::vector<Queue>& queues, size_t longest) {
    for (size_t turn = 0; turn < longest; ++turn)
      for (const Queue& queue : queues)
        if (turn < queue.kernels.size() && !measure(queue.kernels[turn], queue.fingerprint)) return false;
    for (Deferred& rest : std::exchange(deferred_, {}))
      if (!measure_values(stored(rest.kernel), rest.program, rest.values, History(), /*patient=*/true)) return false;
    return true;
  }

  // What is known of a kernel on this host, with this XLA and thread count.
  struct History {
    std::map<std::string, int> visits;                        // by value; kFailed for one that never ran
    int64_t slow_tile = std::numeric_limits<int64_t>::max();  // elements of the smallest tile that was slow to compile
    int deaths = 0;
    bool usable = true;  // the default runs, and its outputs are informative

    void add(const std::string& value, bool is_default, tune::Outcome outcome, double compile_ms) {
      deaths += outcome == tune::Outcome::Crashed || outcome == tune::Outcome::TimedOut;
      // A kernel whose default fails or has uninformative outputs (e.g. a constant) has no run time to compare with.
      if (is_default) usable = outcome == tune::Outcome::Ok;
      const bool slow = outcome == tune::Outcome::TimedOut || compile_ms > kSlowCompileMs;
      if (slow && tile_elements(value) > 0) slow_tile = std::min(slow_tile, tile_elements(value));
    }
  };

  // A kernel's options that are measured last.
  struct Deferred {
    std::string kernel, program;  // fingerprints
    std::vector<std::string> values;
  };

  History history_of(const StoredKernel& kernel) {
    History history;
    const bool careful = options_.kind == CollectKind::Fusion;
    for (const Record& row : database_.find_kernel(kernel.fingerprint, measurer_.host(), options_.threads,
                                                   measurer_.xla_version(), kernel_scope(options_.cold))) {
      if (careful && row.status == "ok" && row.rounds < options_.careful.min_rounds) continue;
      int& visits = history.visits[row.decisions];
      visits = row.status == "ok" && visits < kFailed ? visits + 1 : kFailed;
      history.add(row.decisions, row.decisions == kernel.options[kernel.default_option],
                  tune::outcome_from_name(row.status), row.compile_ms);
    }
    return history;
  }

  // False when there is no time left.
  bool measure(const StoredKernelSummary& summary, const std::string& program_fingerprint) {
    if (measurer_.seconds_left() <= 0) return false;
    const StoredKernel kernel = stored(summary.fingerprint);
    History history = history_of(kernel);
    std::vector<std::string> values = planned_options(kernel, options_);
    report_.known += std::erase_if(values, [&](const std::string& value) { return history.visits[value] >= visit_; });
    return measure_values(kernel, program_fingerprint, values, std::move(history), /*patient=*/false);
  }

  // Unless `patient`, tiles as large as one that was slow to compile are deferred to the end: they take most of a
  // collection's time and hardly ever win. False when there is no time left.
  bool measure_values(const StoredKernel& kernel, const std::string& program_fingerprint,
                      const std::vector<std::string>& values, History history, bool patient) {
    tune::Duel duel = options_.kind == CollectKind::Fusion ? options_.careful : options_.quick;
    duel.cold = options_.cold;
    Deferred later{kernel.fingerprint, program_fingerprint, {}};
    for (const std::string& value : values) {
      if (!history.usable || history.deaths >= kDeathsPerKernel) {  // skipped: no usable default, or it crashes
        --report_.planned;
        continue;
      }
      if (!patient && tile_elements(value) >= history.slow_tile) {
        later.values.push_back(value);
        continue;
      }
      if (measurer_.seconds_left() <= 0) return false;
      on_progress_({"measuring", report_.known + report_.measured, report_.planned, kernel.program, report_.known});
      const tune::Measurement m = measurer_.measure(kernel, value, duel, program_fingerprint);
      ++report_.measured;
      ++(m.ok() ? report_.ok : m.rejected() ? report_.rejected : report_.failed);
      history.add(value, value == kernel.options[kernel.default_option], m.outcome, m.compile_ms);
    }
    if (!later.values.empty()) deferred_.push_back(std::move(later));
    return true;
  }

  StoredKernel stored(const std::string& fingerprint) const {
    std::optional<StoredKernel> kernel = database_.find_stored_kernel(fingerprint, options_.threads);
    if (!kernel) throw InternalError("a planned kernel is not in the database");
    return *std::move(kernel);
  }

  const std::vector<CollectProgram>& programs_;
  Database& database_;
  CollectMeasurer& measurer_;
  const CollectOptions& options_;
  const std::function<void(const CollectProgress&)>& on_progress_;
  std::vector<Deferred> deferred_;
  int visit_ = 1;
  CollectReport report_;
};

}  // namespace

CollectKind collect_kind_from_name(const std::string& name) {
  if (name == "tile") return CollectKind::Tile;
  if (name == "fusion") return CollectKind::Fusion;
  throw unknown_word("kind of data set", name, {"tile", "fusion"}, "--kind");
}

std::vector<CollectProgram> read_manifest(const std::string& path) {
  const auto list = nlohmann::json::parse(shallow_json(read_file(path)), nullptr, /*allow_exceptions=*/false);
  if (!list.is_array() || list.empty()) throw Error("a manifest is a JSON list of programs", path);
  std::vector<CollectProgram> programs;
  for (size_t i = 0; i < list.size(); ++i) {
    const auto text = [&](const char* key, const std::string& otherwise) {
      const auto& entry = list[i];
      const bool there = entry.is_object() && entry.contains(key) && entry[key].is_string();
      const std::string value = there ? entry[key].get<std::string>() : otherwise;
      if (value.empty()) throw Error(std::string("a program without a ") + key, path + ", entry " + std::to_string(i));
      return value;
    };
    CollectProgram program;
    program.name = text("name", "");
    program.file = (std::filesystem::path(path).parent_path() / text("file", "")).string();
    program.family = text("family", program.name);
    programs.push_back(std::move(program));
  }
  return programs;
}

void CollectOptions::validate() const {
  if (max_options < 0 || max_options == 1)
    throw Error("a tile data set needs at least 2 options a kernel", "--max-options");
  if (max_per_program < 0) throw Error("the number of kernels cannot be negative", "--max-per-program");
  if (visits < 1) throw Error("each candidate is visited at least once", "--visits");
  if (configurations < 0) throw Error("the number of configurations cannot be negative", "--configurations");
  if (threads < 1) throw Error("at least one thread is needed", "--threads");
}

CollectReport collect(const std::vector<CollectProgram>& programs, Database& database, CollectMeasurer& measurer,
                      const CollectOptions& options, const std::function<void(const CollectProgress&)>& on_progress) {
  options.validate();
  if (programs.empty()) throw Error("no program to collect from", "", "name files or give a --manifest");
  std::set<std::string> names;
  for (const CollectProgram& program : programs)
    if (!names.insert(program.name).second)
      throw Error("two programs have the name '" + program.name + "'", program.file, "give them names in a manifest");
  database.save_machine(measurer.host(), features::to_json(measurer.machine()).dump());
  return Collection(programs, database, measurer, options, on_progress).run();
}

std::vector<std::string> planned_options(const StoredKernel& kernel, const CollectOptions& options) {
  std::vector<std::string> values = {kernel.options.at(kernel.default_option)};
  if (options.kind == CollectKind::Fusion) return values;
  Dimension dimension;
  dimension.options = kernel.options;
  dimension.default_option = kernel.default_option;
  const int size = static_cast<int>(kernel.options.size());
  Rng rng(options.seed ^ hash64(kernel.fingerprint));
  int samples = 2 * size;
  if (options.max_options > 0 && size > options.max_options) {
    const auto tiles = std::count_if(kernel.options.begin(), kernel.options.end(),
                                     [](const std::string& value) { return !KernelOption::parse(value).tile.empty(); });
    samples = std::max(1, options.max_options - (size - static_cast<int>(tiles)));
  }
  for (int i : tune::first_options(dimension, samples, rng)) values.push_back(kernel.options[i]);
  if (options.max_options > 0 && values.size() > static_cast<size_t>(options.max_options))
    values.resize(options.max_options);
  return values;
}

}  // namespace hone::collect
