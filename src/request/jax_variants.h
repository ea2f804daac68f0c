// Which decisions of a package go to stock JAX: sets of them, tried there.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "request/turns.h"
#include "tune/session/session.h"

namespace hone::request {

// The program under some of the package's decisions, for stock JAX.
struct JaxVariant {
  std::string name;  // "everything", "without flags", "program alone" or "own forms alone"
  Decisions decisions;
  std::string stablehlo;
  nlohmann::json compiler_options = nlohmann::json::object();
  std::string xla_flags;  // empty where none is needed
};

// How a decision is carried; hone.fbs has the words.
struct Carried {
  Decision decision;
  std::string by;       // "program", "another form", "options", "flags"; empty = not at all
  std::string why;      // it is not carried
  std::string instead;  // the other form
};

struct JaxVariants {
  std::vector<Carried> carried;      // as in the first variant
  std::vector<JaxVariant> variants;  // the first one has all that can be carried; empty where nothing can
};
// Further variants leave out flags, all settings, and other forms of operations than the tuned ones, where there are any.
JaxVariants jax_variants(tune::Session& session, const Decisions& decisions);

// The original program against the fastest variant, in stock jaxlib.
struct ExportDuel {
  Speedup speedup;
  double original_ns = 0, exported_ns = 0;  // least times
  int turns = 0;
  bool cpu_time = false;
  double max_error = 0;  // of the variant's outputs from default XLA's, in units of the tolerance
  size_t fastest = 0;    // of the variants
};
// All of them by turns, for about `budget_s`, on the session's inputs. Throws RunError where jaxlib is missing or cannot run one,
// and where outputs differ from default XLA's.
ExportDuel duel_in_jaxlib(tune::Session& session, const std::vector<JaxVariant>& variants, double budget_s, bool quiet);

}  // namespace hone::request
