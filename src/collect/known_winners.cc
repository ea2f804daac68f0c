#include "collect/known_winners.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "tune/kernel/transfer.h"
#include "tune/program/confirm.h"
#include "tune/session/replies.h"

namespace hone::collect {

namespace {

struct Candidate {
  std::string fingerprint;
  std::vector<int64_t> dims;
  Record row;
  std::string value;         // that won, possibly the default
  tune::Measurement winner;  // its measurement
};

// The measurement with the best lower bound; nullopt with fewer than two measured options.
std::optional<Record> best_of(const StoredKernelSummary& kernel, const std::vector<Record>& rows) {
  const Record* best = nullptr;
  std::set<std::string> options;
  for (const Record& row : rows) {
    if (row.status != tune::outcome_name(tune::Outcome::Ok) || !row.verified) continue;
    options.insert(row.decisions);
    if (best == nullptr || row.ratio_low > best->ratio_low) best = &row;
  }
  if (kernel.options < 2 || options.size() < 2) return std::nullopt;
  return *best;
}

// By descending run time, no output twice.
std::vector<Candidate> longest(std::vector<Candidate> all, size_t most) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.row.baseline_ns > b.row.baseline_ns; });
  std::vector<Candidate> kept;
  for (Candidate& c : all) {
    const bool again = std::any_of(kept.begin(), kept.end(), [&](const Candidate& k) { return k.dims == c.dims; });
    if (!again && kept.size() < most) kept.push_back(std::move(c));
  }
  return kept;
}

}  // namespace

KnownWinnersReport add_known_winners(const Database& from, const KnownWinnersOptions& options, Database& known) {
  const MeasuredUnder under = measured_most(from, options.measured);
  KnownWinnersReport report;
  std::map<std::string, std::vector<Candidate>> by_structure;
  for (const StoredKernelSummary& summary : from.stored_kernels(under.threads)) {
    if (!options.programs.contains(summary.program)) continue;
    const std::optional<Record> best =
        best_of(summary, from.find_kernel(summary.fingerprint, under.host, under.threads, under.xla_version));
    if (!best) continue;
    try {
      const StoredKernel stored = from.find_stored_kernel(summary.fingerprint, under.threads).value();
      const tune::KernelStructure structure = tune::structure_of(kernel_of(stored));
      const std::string& own = stored.options.at(static_cast<size_t>(stored.default_option));
      const bool is_default = best->ratio_low <= 1 || best->decisions == own;
      const tune::Measurement m = tune::measurement_of(*best);
      Candidate candidate{summary.fingerprint, structure.dims, *best, is_default ? own : best->decisions,
                          is_default ? tune::against_itself(m) : m};
      report.winners += !is_default;
      ++report.kernels;
      by_structure[structure.exact].push_back(std::move(candidate));
    } catch (const RunError&) {
      throw;
    } catch (const Error& e) {
      spdlog::warn("kernel {} is skipped: {}", summary.fingerprint, e.what());
    }
  }
  report.structures = static_cast<int64_t>(by_structure.size());
  for (auto& [structure, candidates] : by_structure)
    for (const Candidate& c : longest(std::move(candidates), static_cast<size_t>(options.per_structure))) {
      const StoredKernel stored = from.find_stored_kernel(c.fingerprint, under.threads).value();
      Record conditions;
      conditions.program = c.row.program;
      conditions.host = tune::machine_class(options.isa);
      conditions.threads = under.threads;
      conditions.xla_version = under.xla_version;
      conditions.created = c.row.created;
      tune::Transfer(known, conditions).remember(kernel_of(stored), c.value, c.winner);
      ++report.kept;
    }
  return report;
}

}  // namespace hone::collect
