// Annealing by measurement with proposals from a model: of several neighbours of the current fusion configuration, the
// one that is predicted fastest is measured. Neighbours that lower to a program measured before are skipped. Plain
// annealing measures many of those, since changing a single edge often leaves the lowered program unchanged.
#pragma once

#include <functional>
#include <vector>

#include "tune/program/fusion_model.h"

namespace hone::tune {

struct FusionWalkOptions {
  int proposals = 24;         // new programs scored for one measurement, at most
  double proposing_s = 0.4;   // time limit for lowering them
  double exploration = 0.5;   // share of measurements that take a random proposal, since the model may be wrong
  double temperature = 0.02;  // relative, at the beginning; a twentieth of it at the end
  uint64_t seed = 0;
  // Rises from 0 to 1, where the walk ends.
  std::function<double()> progress;
  // Measures a configuration against the start of the walk.
  std::function<Measurement(const Decisions& fusion)> measure;
};

struct WalkedFusion {
  Decisions decisions;
  double ratio = 0;  // speed relative to the start, measured once
};

// `base`: the decisions other than fusion under which proposals are lowered. Returns at most `most` configurations of
// distinct programs with a ratio above 1, fastest first. Throws what `measure` and the lane throw, except Error from
// lowering a proposal.
std::vector<WalkedFusion> walk_fusion(const FusionLane& lane, FusionModel& model, const Decisions& base,
                                      const std::vector<Dimension>& edges, const Decisions& start, int most,
                                      const FusionWalkOptions& options);

}  // namespace hone::tune
