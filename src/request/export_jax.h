// A tuned program for stock JAX: a folder with the decisions that do not need Hone.
//   program.mlir         StableHLO with them written out
//   program.jax_export   the same, for jax.export.deserialize
//   load.py              shows its use, and holds the settings of XLA for the rest
//   export.json          which decisions were carried, which were not, and what was measured
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "request/jax_variants.h"
#include "request/program.h"

namespace hone::request {

struct ExportRequest {
  ProgramOptions program;  // a package
  std::string output;      // the folder; empty = NAME.jax in the current folder
  bool force = false;      // replace an older export
  double duel_s = 10;      // of the duel; 0 = none
  bool quiet = false;
};

struct JaxExport {
  std::string program, output;
  std::vector<Carried> decisions;  // all of the package
  JaxVariant variant;              // what was written
  double tuned_speedup = 1;        // in Hone, as the package says
  nlohmann::json python;           // what python/hone/stock says of the files
  std::optional<ExportDuel> duel;

  int carried() const;
};

// Writes the folder. Throws Error for what is no package and for an output that exists; RunError where no decision can be carried,
// where jaxlib is missing or does not take the program, and where the outputs differ. Nothing is written then.
JaxExport export_to_jax(const ExportRequest& request);
// The content of export.json, and of --json.
nlohmann::json to_json(const JaxExport& exported);

}  // namespace hone::request
