// A lowered program for tuners and models: its distinct kernels and its dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/decision.h"

namespace hone {

// A distinct kernel of the lowered program; its dimension lists the ways to compile it.
struct Kernel {
  std::string fingerprint, name, kind;  // kind: "fusion", "dot", "convolution"
  int count = 1;                        // how often it occurs
  double runs = 1;  // in one run of the program, where loops that XLA knows count with all their steps
  std::string hlo;
  double flops = 0, bytes = 0;  // of one run
  double bytes_read = 0, bytes_written = 0, transcendentals = 0;
  double outside_bytes = 0;  // read in one run of the program from its parameters and constants
  std::string module;        // HloModuleProto, for models; may be empty
  std::string default_tile;
  std::vector<std::string> instructions;  // that run it, by name in the lowered module
  Dimension dimension;
  // Of an operation that is measured by itself before XLA's passes, its dimension a rewrite: decisions about weights, which
  // hold for both sides.
  Decisions under;

  const std::string& default_value() const { return dimension.options.at(dimension.default_option); }
};

// What instructions read and write that are no kernels: copies, sorts, library calls.
struct Moved {
  double bytes = 0;  // of one run
  double runs = 0;   // in one run of the program, of all instructions that move as much
  bool operator==(const Moved&) const = default;
};

struct Lowered {
  std::string fingerprint, hlo;
  int64_t instructions = 0;
  std::vector<Kernel> kernels;
  std::vector<Dimension> dimensions;    // of the whole program
  std::vector<std::string> of_weights;  // instructions that compute the same on every run: of declared weights alone
  double outside_bytes = 0;             // of parameters, constants and results
  std::vector<Moved> moved;             // by all that is no kernel, fewest bytes first
  int unknown_loops = 0;                // whose number of steps XLA does not know: what is in them runs once
  Decisions unmatched;                  // of those lowered under: what nothing in the program was about
};

}  // namespace hone
