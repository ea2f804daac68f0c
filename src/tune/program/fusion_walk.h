// Annealing by measurement in which a model proposes: of some neighbours of the current fusion configuration the one that is
// predicted fastest is measured. Neighbours that XLA makes a program of that was measured before are never measured again,
// which in annealing alone they mostly are: most edges, changed by themselves, change nothing.
#pragma once

#include <functional>
#include <vector>

#include "tune/program/fusion_model.h"

namespace hone::tune {

struct FusionWalkOptions {
  int proposals = 24;         // scored for one measurement, as far as there are new ones
  double proposing_s = 0.4;   // that their lowering may take at most
  double exploration = 0.5;   // share of measurements that take any of the proposals, since the model may be wrong
  double temperature = 0.02;  // relative, at the beginning; a twentieth of it at the end
  uint64_t seed = 0;
  // From 0 to 1, where the walk ends.
  std::function<double()> progress;
  // Against the configuration the walk began with.
  std::function<Measurement(const Decisions& fusion)> measure;
};

struct WalkedFusion {
  Decisions decisions;
  double ratio = 0;  // speed over that of the beginning, measured once
};

// `base`: the decisions other than fusion that proposals are lowered under. The fastest configurations, distinct programs,
// above 1, at most `most`, fastest first. Throws what `measure` and the lane throw, but Error of a single lowering.
std::vector<WalkedFusion> walk_fusion(const FusionLane& lane, FusionModel& model, const Decisions& base,
                                      const std::vector<Dimension>& edges, const Decisions& start, int most,
                                      const FusionWalkOptions& options);

}  // namespace hone::tune
