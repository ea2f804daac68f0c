// The result of a tune as data, as JSON and as a table for the terminal.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/decision.h"
#include "graph/made_with.h"
#include "tune/program/confirm.h"
#include "tune/session/session.h"
#include "tune/session/timeline.h"

namespace hone::report {

struct TuneReport {
  std::string program;            // name, for display
  std::string fingerprint;        // of the program as loaded
  std::string tuned_fingerprint;  // of the tuned, lowered module
  tune::Target target;
  std::string inputs = "generated";    // or the file they came from
  std::string xla_version, host, isa;  // isa: the instruction set in effect; empty in packages of older versions
  MadeWith made_with;                  // written to decisions.json
  Decisions decisions;                 // empty = default XLA
  double default_ns = 0, tuned_ns = 0;
  double speedup = 1, speedup_low = 1, speedup_high = 1;  // default over tuned
  int rounds = 0;                                         // of the final duel
  bool verified = false;
  double max_error = 0;      // in units of the tolerance
  bool interpreted = false;  // the outputs agree with XLA's HLO interpreter as well
  tune::Counters counters;
  double seconds = 0;
  double budget_s = 0;
  bool known = false;    // decisions came from the database
  bool stopped = false;  // by the user or the end of the budget
  std::string note;
  std::vector<tune::KernelReport> kernels;
  std::vector<tune::Step> steps;
  std::vector<tune::ScheduledExperiment> schedule;  // in the order of beginning; empty in packages of older versions
  tune::Untried untried;                            // what the search had no time for
  std::vector<tune::Trial> timeline;                // every candidate measured; empty in packages of older versions
  tune::PrecisionReport precision;                  // with --precision: the program of this report is the converted one
  std::string output;                               // the package, empty when none was written
};

TuneReport make_report(tune::Session& session, const tune::ProgramResult& result);

// The object that `hone tune --json` prints.
nlohmann::json summary_json(const TuneReport& report);
// summary_json and everything else: kernels with their top lists, steps, timeline, target, host.
nlohmann::json full_json(const TuneReport& report);
// The inverse of full_json except for the decisions, whose order is in the package's decisions.json. Fields that older
// versions did not write keep their defaults. Throws Error (where = `where`) that names the missing or wrong field.
TuneReport report_from_json(const nlohmann::json& object, const std::string& where);
// A table of at most 100 columns, ending in a newline.
std::string report_text(const TuneReport& report);

// Decisions as an object by kind, {"kernel": {"<key>": "tile=8,8"}}, and as a list for decisions_from_list().
nlohmann::json decisions_object(const Decisions& decisions);
nlohmann::json decisions_list(const Decisions& decisions);
// Throws Error (where = `where`) when the JSON is not a list of decisions.
Decisions decisions_from_list(const nlohmann::json& list, const std::string& where);

nlohmann::json to_json(const tune::Target& target);

}  // namespace hone::report
