// Callbacks for training runs that are not interrupted and report no progress.
#pragma once

inline const auto kNeverStop = [] { return false; };
inline const auto kSilent = [](auto&&...) {};
