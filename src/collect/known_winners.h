// The winners that a search opens with on a machine that has measured nothing yet: for each structure of kernels, the
// fastest options among the measurements of training programs (data/known.db, made by `make known`).
#pragma once

#include <set>
#include <string>

#include "collect/collect.h"
#include "data/database.h"

namespace hone::collect {

struct KnownWinnersOptions {
  std::string isa;                 // that the measurements were made with: a name of cpu_isa()
  std::set<std::string> programs;  // names: only their kernels are taken
  int per_structure = 4;           // kernels of one structure, those that run longest
  ExportOptions measured;          // host, threads and XLA version of the measurements
};

struct KnownWinnersReport {
  int64_t kernels = 0;     // with two and more measured options
  int64_t winners = 0;     // of these not won by default XLA
  int64_t structures = 0;  // distinct
  int64_t kept = 0;        // kernels
};

// Adds to `known`; the same measurements make the same rows. Throws Error when `measured` finds none.
KnownWinnersReport add_known_winners(const Database& from, const KnownWinnersOptions& options, Database& known);

}  // namespace hone::collect
