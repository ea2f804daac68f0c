// Layouts of the program that are chosen by what it is predicted to take under them, each after a duel of its own: of those predicted to
// gain about half do, so that none is taken with others. docs/decisions/0075-layouts-by-predicted-time.md.
#pragma once

#include <functional>
#include <vector>

#include "optimize/guard.h"
#include "tune/program/predicted_layouts.h"

namespace hone::optimize {

// Of the program under decisions: those that are predicted to be faster, best first. Throws Error.
using PredictedLayouts = std::function<std::vector<tune::PredictedLayout>(const Decisions& under)>;

inline constexpr int kLayoutDuels = 3;               // that one program has at most
inline constexpr double kLeastLayoutMargin = 0.005;  // predicted: from there on two in five gain more than 1 %

// Those that have a duel.
std::vector<DuelCandidate> layout_candidates(const std::vector<tune::PredictedLayout>& predicted);

}  // namespace hone::optimize
