// Gains of choices as a calibration finds them, for tests.
#pragma once

#include <algorithm>
#include <cmath>

#include "graph/decision.h"
#include "tune/kernel/calibration.h"

namespace hone::optimize {

// Above a margin of 1 tiles gain a fifth; other loops never pay off.
inline tune::Calibration gains_from_one() {
  tune::Calibration gains;
  gains.by_transition["loop to tiled"] = {
      .from = 1, .gain = std::log(1.2), .low = 0.05, .kernels = 50, .programs = 9, .seen = 80};
  gains.by_transition["loop to loop"].seen = 80;
  return gains;
}

// The same, and grouped convolutions gain from 1,000 multiply-adds on.
inline tune::Calibration gains_of_convolutions() {
  tune::Calibration gains = gains_from_one();
  gains.by_transition["grouped convolution"] = {
      .from = std::log(1000), .gain = std::log(3), .low = std::log(1.5), .kernels = 50, .programs = 9, .seen = 80};
  return gains;
}

inline bool has(const Decisions& decisions, const Decision& d) {
  return std::find(decisions.begin(), decisions.end(), d) != decisions.end();
}

}  // namespace hone::optimize
