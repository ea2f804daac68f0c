// Layouts of the program that are chosen by what it is predicted to take under them, each after a duel of its own: of those predicted to
// gain about half do, so that none is taken with others. docs/decisions/0075-layouts-by-predicted-time.md.
#pragma once

#include <functional>
#include <vector>

#include "tune/program/predicted_layouts.h"
#include "tune/session/measurer.h"

namespace hone::optimize {

// Of the program under decisions: those that are predicted to be faster, best first. Throws Error.
using PredictedLayouts = std::function<std::vector<tune::PredictedLayout>(const Decisions& under)>;

// A layout that won, with its duel against the program without it.
struct ChosenLayout {
  tune::PredictedLayout layout;
  tune::Measurement measurement;
};

inline constexpr int kLayoutDuels = 3;               // that one program has at most
inline constexpr double kLeastLayoutMargin = 0.005;  // predicted: from there on two in five gain more than 1 %

// Those that win their duel, as `wins` says, over the program under `base` and the layouts before them.
std::vector<ChosenLayout> choose_layouts(tune::Measurer& measurer, const Decisions& base,
                                         const std::vector<tune::PredictedLayout>& predicted, const tune::Duel& duel,
                                         const std::function<bool(const tune::Measurement&)>& wins);

}  // namespace hone::optimize
