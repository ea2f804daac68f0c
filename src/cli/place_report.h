// The answer of hone place: what it is made of, and its forms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "place/place_program.h"
#include "sharding/shard_run.h"
#include "sim/simulator.h"
#include "tune/session/session.h"

namespace hone::cli {

struct PlaceCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string devices, tasks = "placement,fusion,schedule", strategy = "guided-moves", costs, weights, parameters;
  std::string policy, models, budget, out, hlo, trace, graph;
  std::vector<std::string> from;
  std::optional<int64_t> steps;  // simulations of a search; unlimited within a given budget
  int randoms = 1;
  bool measure = false, run = false;
};

// The subject of placement: an XLA program, or a task graph in JSON, which has no session.
struct PlaceSubject {
  std::unique_ptr<OpenedProgram> opened;
  place::PlacedProgram placed;
  const sim::TaskGraph& graph() const { return placed.program.graph; }
};

// One line of the table.
struct PlaceRow {
  std::string name;
  sim::Plan plan;
  sim::StepReport report;
  tune::Measurement measured;
  std::optional<sharding::MeasuredSharding> ran;  // on host devices
};

// An improvement found by a search.
struct PlaceGain {
  int64_t step = 0;                              // simulations so far
  double elapsed_s = 0, cpu_s = 0, seconds = 0;  // wall and CPU time since the search began; the plan's step time
};
// What a search did; empty for the other strategies.
struct PlaceSearch {
  std::vector<PlaceGain> gains;
  int64_t simulations = 0;
  double elapsed_s = 0, cpu_s = 0;
};

// `rows`: the strategy that was asked for is the last. `trace`: of its step.
struct PlaceAnswer {
  const PlaceCommand& command;
  const PlaceSubject& subject;
  const sim::Topology& topology;
  const std::vector<PlaceRow>& rows;
  const PlaceSearch& searched;
  const sim::StepTrace& trace;
};
nlohmann::json place_json(const PlaceAnswer& answer);
void print_place(const PlaceAnswer& answer);
// The files that the command names. Throws RunError.
void write_place_files(const PlaceAnswer& answer, const sim::Simulator& simulator);

}  // namespace hone::cli
