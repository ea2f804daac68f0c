// A program under its decisions against stock jaxlib.
#pragma once

#include <string>

#include "request/program.h"
#include "request/turns.h"

namespace hone::request {

struct AgainstJaxlib {
  std::string jaxlib;                                 // its version
  double default_ns = 0, tuned_ns = 0, stock_ns = 0;  // least times
  Speedup tuned, by_default;                          // over stock jaxlib
  int turns = 0;
  bool cpu_time = false;      // times that the processes computed, not those of the clock
  double first_call_s = 0;    // of stock jaxlib: it compiles
  tune::Measurement outputs;  // of stock jaxlib, against default XLA's
};

// The program as it was loaded runs in stock jaxlib beside default XLA and its tuned form in the worker, by turns, on the same inputs
// and with the target's threads, for about `budget_s`. Throws RunError where jaxlib is missing or cannot run the program.
AgainstJaxlib run_against_jaxlib(tune::Session& session, const Decisions& decisions, double budget_s, bool quiet);

// Contenders in the worker and in stock jaxlib.
Contender in_worker(tune::Session& session, const Decisions& decisions);

// What `session` runs on, as an .npz file for stock jaxlib. Throws Error for inputs that are not arrays.
void write_inputs(tune::Session& session, const std::string& path);

}  // namespace hone::request
