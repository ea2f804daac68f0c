// The search strategies, by name. Each is one file in this folder and one row of the table in strategies.cc.
// All evaluate the start first, evaluate no choice twice, obey SearchOptions and are reproducible by seed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/strategy.h"

namespace hone {

// A strategy with its standard settings. An unknown name throws Error, whose hint lists the names.
std::unique_ptr<Strategy> make_strategy(const std::string& name);
std::vector<std::string> strategy_names();

// Every choice in mixed-radix order, last dimension fastest.
std::unique_ptr<Strategy> make_exhaustive();

// Distinct uniform choices until the evaluation limit or the end of the space.
std::unique_ptr<Strategy> make_random();

// Coordinate descent: all options of one dimension at a time, by descending Dimension::weight, in rounds until one
// brings no gain. Exact on separable costs.
std::unique_ptr<Strategy> make_greedy();

struct AnnealOptions {
  bool geometric = true;           // cooling: geometric, else linear
  double start_temperature = 0.1;  // relative to the current cost: at 0.1 a 10 % loss is accepted with probability 1/e
  double end_temperature = 0.002;
  int patience = 64;      // consecutive moves without a new choice before a jump to an unseen one
  void validate() const;  // throws Error
};
// Simulated annealing (Kirkpatrick et al. 1983); a move changes one or two dimensions.
std::unique_ptr<Strategy> make_anneal(const AnnealOptions& options = {});

struct GeneticOptions {
  int population = 24;
  int elites = 2;        // best of a generation, kept unchanged
  int tournament = 3;    // candidates per parent, the best one wins
  double mutations = 1;  // expected number of dimensions redrawn in a child
  void validate() const;
};
// Generational genetic algorithm with uniform crossover (Syswerda 1989).
std::unique_ptr<Strategy> make_genetic(const GeneticOptions& options = {});

struct BeamOptions {
  int width = 8;
  void validate() const;
};
// Beam search: as greedy, but keeps the `width` best choices after each dimension.
std::unique_ptr<Strategy> make_beam(const BeamOptions& options = {});

}  // namespace hone
