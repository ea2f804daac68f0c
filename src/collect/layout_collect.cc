#include "collect/layout_collect.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "data/layout_space.h"
#include "features/machine_record.h"
#include "report/program_file.h"
#include "tune/session/session.h"

namespace hone::collect {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
constexpr int kDeathsPerProgram = 6;  // after this many worker deaths its other configurations are skipped

tune::SessionOptions session_options(const LayoutCollectOptions& options, double budget_s) {
  tune::SessionOptions session;
  session.target.threads = options.threads;
  session.target.seed = options.seed;
  session.target.max_isa = options.max_isa;
  session.budget_s = budget_s;
  session.worker.memory_limit_bytes = options.memory_limit_bytes;
  return session;
}

// A program open in a worker, with its layout space.
struct Opened {
  tune::Session session;
  LayoutSpace layouts;

  Opened(const CollectProgram& program, const LayoutCollectOptions& options, double budget_s)
      : session(session_options(options, budget_s)) {
    session.begin_confirmation();  // loading does not count towards the budget, which a busy machine could use up
    session.load(report::read_program(program.file).bytes, program.name);
    layouts = layout_space_from(session.list_layouts());
    session.begin_search();
  }

  std::vector<Record> rows(const Database& database) {
    return database.find_program(session.program().program, session.host(), session.target().threads,
                                 session.worker_info().xla_version);
  }
};

class LayoutCollection {
 public:
  LayoutCollection(const std::vector<CollectProgram>& programs, Database& database, const LayoutCollectOptions& options,
                   const std::function<void(const CollectProgress&)>& on_progress)
      : programs_(programs), database_(database), options_(options), on_progress_(on_progress) {}

  LayoutCollectReport run() {
    report_.programs = static_cast<int>(programs_.size());
    report_.planned = static_cast<int64_t>(programs_.size()) * options_.configurations;
    bool all = true;
    std::string first_failure;
    for (size_t i = 0; i < programs_.size(); ++i) {
      if (left() <= 0) {
        all = false;
        break;
      }
      // At least a second: with less, no time would remain to measure after loading.
      const double share =
          options_.budget_s > 0 ? std::max(1.0, left() / static_cast<double>(programs_.size() - i)) : 0;
      try {
        all = measure(programs_[i], share) && all;
      } catch (const tune::Stopped&) {
        all = false;
      } catch (const Error& e) {
        ++report_.programs_failed;
        report_.planned -= options_.configurations;
        if (first_failure.empty()) first_failure = programs_[i].file + ": " + e.what();
        spdlog::warn("{} is skipped: {}", programs_[i].name, e.what());
      }
    }
    if (report_.programs_failed == report_.programs) throw Error("no program can be measured", first_failure);
    report_.complete = all;
    report_.measuring_s = seconds_since(start_);
    return report_;
  }

 private:
  double left() const {
    if (interrupted()) return 0;
    return options_.budget_s > 0 ? options_.budget_s - seconds_since(start_) : 1e9;
  }

  void say(const CollectProgram& program) const {
    on_progress_({"measuring", report_.known + report_.measured, report_.planned, program.name, report_.known});
  }

  // False when the time ran out before the last configuration.
  bool measure(const CollectProgram& program, double share_s) {
    say(program);
    Opened opened(program, options_, share_s);
    tune::Session& session = opened.session;
    const std::vector<Choice> samples = sample_layouts(opened.layouts.space, options_.configurations, options_.seed);
    report_.planned -= options_.configurations - static_cast<int64_t>(samples.size());
    report_.programs_without_choice += samples.empty();
    std::set<std::string> known;
    int deaths = 0;
    for (const Record& row : opened.rows(database_)) {
      known.insert(row.decisions);
      deaths += row.status == "crashed" || row.status == "timed_out";
    }
    session.use_database(database_, /*reuse_kernels=*/false);
    if (!database_.find_machine(session.host())) {
      const auto machine = features::this_machine_record(session.host(), options_.threads, options_.max_isa);
      database_.save_machine(session.host(), features::to_json(machine).dump());
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      const Decisions decisions = opened.layouts.space.decisions(samples[i]);
      if (known.count(to_text(decisions))) {
        ++report_.known;
        continue;
      }
      if (deaths >= kDeathsPerProgram) {
        report_.planned -= static_cast<int64_t>(samples.size() - i);
        spdlog::warn("{}: {} workers died, its other layouts are skipped", program.name, deaths);
        return true;
      }
      if (session.seconds_left() <= 0 || left() <= 0) return false;
      say(program);
      const tune::Measurement m = session.measure_program(decisions, {}, options_.duel);
      ++report_.measured;
      report_.ok += m.ok();
      report_.rejected += m.rejected();
      report_.failed += !m.ok() && !m.rejected();
      deaths += m.outcome == tune::Outcome::Crashed || m.outcome == tune::Outcome::TimedOut;
    }
    return true;
  }

  const std::vector<CollectProgram>& programs_;
  Database& database_;
  const LayoutCollectOptions& options_;
  const std::function<void(const CollectProgress&)>& on_progress_;
  const double start_ = steady_s();
  LayoutCollectReport report_;
};

void check_names(const std::vector<CollectProgram>& programs) {
  std::set<std::string> names;
  for (const CollectProgram& program : programs)
    if (!names.insert(program.name).second)
      throw Error("two programs have this name", program.name, "give them names in a manifest");
}

}  // namespace

void LayoutCollectOptions::validate() const {
  if (configurations < 1) throw Error("at least one configuration is needed", "--configurations");
  if (threads < 1) throw Error("at least one thread is needed", "--threads");
  if (budget_s < 0) throw Error("the budget cannot be negative", "--budget");
}

LayoutCollectReport collect_layouts(const std::vector<CollectProgram>& programs, Database& database,
                                    const LayoutCollectOptions& options,
                                    const std::function<void(const CollectProgress&)>& on_progress) {
  options.validate();
  check_names(programs);
  return LayoutCollection(programs, database, options, on_progress).run();
}

LayoutExportReport export_layouts(const std::vector<CollectProgram>& programs, const Database& database,
                                  const std::string& folder, const LayoutCollectOptions& options,
                                  const std::function<void(const CollectProgress&)>& on_progress) {
  check_names(programs);
  LayoutExportReport report;
  std::string host;
  CollectProgress progress;
  progress.total = static_cast<int64_t>(programs.size());
  for (const CollectProgram& program : programs) {
    progress.program = program.name;
    if (on_progress) on_progress(progress);
    ++progress.done;
    TpuGraph graph;
    try {
      Opened opened(program, options, 0);
      graph = to_tpu_graph(opened.layouts, program.name, opened.rows(database));
      host = opened.session.host();
    } catch (const tune::Stopped&) {
      break;
    } catch (const Error& e) {
      spdlog::warn("{} is skipped: {}", program.name, e.what());
      continue;
    }
    if (graph.configurations() < 2) continue;
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) throw RunError("cannot make the folder: " + failed.message(), folder);
    report.files.push_back((fs::path(folder) / (program.name + ".npz")).string());
    write_tpu_graph(report.files.back(), graph);
    ++report.programs;
    report.configurations += graph.configurations();
  }
  if (report.programs == 0) throw Error("the database has no layouts measured for these programs", folder);
  if (const auto machine = database.find_machine(host))
    features::write_machine_file(folder, features::machine_record_from_json(json::parse(*machine), host));
  return report;
}

}  // namespace hone::collect
