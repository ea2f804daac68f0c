// What an agent sees of a program: one definition for training (PassEnv) and for using what was trained (walks).
#pragma once

#include <string>
#include <vector>

#include "passorder/environment.h"
#include "passorder/pass_session.h"

namespace hone::passorder {

inline constexpr int64_t kCostWidth = 6;  // of Observation::costs

struct PassView {
  bool graph = false;           // Observation::graph instead of values
  bool costs = false;           // Observation::costs, too
  bool log_counts = false;      // values are log(1 + count)
  bool action_history = false;  // values end with one number per action: 1 = it was taken in this state
};

// Of a state that `history` makes of the program; `initial` is that of the untouched one, `taken` has an element per action.
// See PassEnv for the columns.
Observation observe(PassSession& session, const std::string& program, const PassState& initial, const PassState& state,
                    const PassHistory& history, const std::vector<bool>& taken, const PassView& view);

}  // namespace hone::passorder
