// Observations of a program: one definition for training (PassEnv) and for trained policies (walks).
#pragma once

#include <string>
#include <unordered_map>
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
  // Values end with, per action, how often it changed the program before (at most 4, over 4), then 0.8^k where k changes
  // came after its last one, and two numbers: instructions / those of the untouched program and changes / 45.
  bool change_history = false;
  std::unordered_map<std::string, size_t> actions;  // numbers by name
  size_t count = 0;                                 // of the actions

  PassView() = default;
  // The names of the actions in their order.
  explicit PassView(const std::vector<std::string>& passes);
  int64_t width() const;  // of the values
};

// The observation of the state after `history`; `initial` is the untouched state, `taken` has an element per action.
// See PassEnv for the columns.
Observation observe(PassSession& session, const std::string& program, const PassState& initial, const PassState& state,
                    const PassHistory& history, const std::vector<bool>& taken, const PassView& view);

}  // namespace hone::passorder
