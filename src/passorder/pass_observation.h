// Observations of a program: one definition for training (PassEnv) and for trained policies (walks).
#pragma once

#include <string>
#include <vector>

#include "passorder/environment.h"
#include "passorder/pass_session.h"

namespace hone::passorder {

inline constexpr int64_t kCostWidth = 6;  // of Observation::costs

struct PassView {
  bool graph = false;           // Observation::graph instead of values
  bool costs = false;           // also Observation::costs
  bool log_counts = false;      // values are log(1 + count)
  bool action_history = false;  // values end with one number per action: 1 if it was taken in this state
};

// The observation of the state after `history`; `initial` is the untouched state, `taken` has an element per action.
// See PassEnv for the columns.
Observation observe(PassSession& session, const std::string& program, const PassState& initial, const PassState& state,
                    const PassHistory& history, const std::vector<bool>& taken, const PassView& view);

}  // namespace hone::passorder
