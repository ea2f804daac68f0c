// Results of earlier requests in the database.
#pragma once

#include <optional>
#include <set>

#include "data/database.h"
#include "report/report.h"
#include "tune/program/program_tuner.h"

namespace hone::request {

// The key of a result: the program, the machine, and every option that it depends on. `kinds`: those that are decided;
// empty = all.
Tuned result_key(tune::Session& session, bool fusion, const std::set<DecisionKind>& kinds);

// The result stored under this key, if it still beats default XLA in short duels.
std::optional<tune::ProgramResult> known_result(const Database& database, const Tuned& key, tune::Measurer& bench);

// Stores a result under the key, unless the user interrupted the search or the outputs were not verified.
void remember_result(Database& database, Tuned key, const report::TuneReport& report);

}  // namespace hone::request
