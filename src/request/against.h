// A program under its decisions against stock jaxlib.
#pragma once

#include <string>
#include <vector>

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

// Writes what `session` runs on as an .npz file for stock jaxlib, to the folder; returns its path, empty where there are no inputs,
// since NumPy reads no file without arrays. Throws Error as below.
std::string write_inputs(tune::Session& session, const std::string& folder);
// Whether values of these shapes, as "f32[2,3]", can be handed to stock jaxlib and back. Throws Error for tuples, types that NumPy's
// files do not have, and more than a message of the worker holds (just below 2 GiB).
void check_arrays(const std::vector<std::string>& shapes, const std::string& program);

}  // namespace hone::request
