// Where and with what a tuned program was made, as its package records it, and whether it may run as tuned here.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/decision.h"

namespace hone {

struct MadeWith {
  std::string cpu;                        // model; empty = unknown
  int cores = 0;                          // that the process could use (base/machine.h)
  std::string isa;                        // the instruction set in effect (base/isa.h)
  std::vector<std::string> cpu_features;  // that compiled code could use, by the names of /proc/cpuinfo
  std::string hone, xla;                  // versions; an empty one of Hone: an older version, which recorded nothing
  std::map<std::string, std::string> libraries;  // versions of those that decisions may call
  bool operator==(const MadeWith&) const = default;
};

// On this CPU, under a limit of the instruction set (empty = none), by this version of Hone.
MadeWith made_here(const std::string& max_isa, const std::string& xla,
                   const std::map<std::string, std::string>& libraries);

// The object "made_with" of a package.
nlohmann::json to_json(const MadeWith& made);
// From the contents of decisions.json; those of older versions have at most XLA's version. Throws Error for other types.
MadeWith made_with_from_json(const nlohmann::json& package);

struct Fit {
  bool as_tuned = true;                  // else default XLA has to run in its place
  std::vector<std::string> differences;  // between there and here, for people; empty = none
};

// A program with these decisions runs as tuned where the CPU has all features, XLA is of the same version, and so are the libraries
// that its decisions call. Other differences are named.
Fit fit_of(const MadeWith& made, const MadeWith& here, const Decisions& decisions);

// Adds to `fit` that a program runs on more threads than there are cores for.
void compare_threads(int threads, const MadeWith& here, Fit& fit);

// One line for people about what differs and what runs; empty where nothing differs.
std::string fit_text(const Fit& fit);
// One about decisions that nothing in the program matches; empty without any.
std::string unmatched_text(const Decisions& unmatched);

}  // namespace hone
