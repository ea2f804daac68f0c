// Collects measured layouts to train layout models. Every program is measured as a whole, under random layouts for its
// configurable instructions, against XLA's own layouts, and its outputs are compared with default XLA's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collect/collect.h"
#include "data/database.h"

namespace hone::collect {

struct LayoutCollectOptions {
  int configurations = 100;  // of a program, besides XLA's own
  uint64_t seed = 0;         // of samples and inputs
  int threads = 1;
  std::string max_isa = {};  // limit of the instruction set (base/isa.h); empty = the CPU's
  double budget_s = 0;       // 0 = until all is done
  int64_t memory_limit_bytes = 0;
  // Compiling takes most of the time.
  tune::Duel duel{
      .min_rounds = 3, .max_rounds = 12, .budget_ms = 120, .precision = 0.02, .abandon_ratio = 0.1, .limit_s = 60};

  void validate() const;  // throws Error
};

struct LayoutCollectReport {
  int programs = 0, programs_failed = 0, programs_without_choice = 0;
  int64_t planned = 0, known = 0, measured = 0, ok = 0, rejected = 0, failed = 0;
  double measuring_s = 0;
  bool complete = false;
};

// Records every measurement as it is made; the same call continues where an earlier one stopped. Programs share the
// remaining budget. A program that fails is logged and skipped. Throws Error when all fail.
LayoutCollectReport collect_layouts(const std::vector<CollectProgram>& programs, Database& database,
                                    const LayoutCollectOptions& options,
                                    const std::function<void(const CollectProgress&)>& on_progress);

struct LayoutExportReport {
  int programs = 0;
  int64_t configurations = 0;
  std::vector<std::string> files;
};
// One TpuGraphs layout file per program with measurements, FOLDER/NAME.npz, and FOLDER/machine.json. Each program is lowered: up to seconds a program.
LayoutExportReport export_layouts(const std::vector<CollectProgram>& programs, const Database& database,
                                  const std::string& folder, const LayoutCollectOptions& options,
                                  const std::function<void(const CollectProgress&)>& on_progress);

}  // namespace hone::collect
