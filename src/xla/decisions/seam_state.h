// Which seams work in this process: one for each function of XLA that seams.cc redefines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::xla_side {

enum SeamId : int8_t {
  kTile,
  kTiledSupport,
  kFusion,
  kFusionStart,
  kDotStrategy,
  kDotYnn,
  kDotYnnShape,
  kConvYnn,
  kReduceYnn,
  kYnnThunk,
  kLayout,
  kLayoutPasses,
  kCodeFusions,
  kCodeObjects,
  kCodeLinks,
  kCodeLibrary,
  kSeams  // their number
};

// A seam is on when its original is found in the wheel and a compile in this process reached it.
struct SeamState {
  std::string name;
  bool found = false;  // the original symbol exists
  long calls = 0;      // number of calls by XLA
  bool on = true;      // off = always the original
};
std::vector<SeamState>& seam_states();
SeamState& seam_state(SeamId id);
bool seam_on(const char* name);

}  // namespace hone::xla_side
