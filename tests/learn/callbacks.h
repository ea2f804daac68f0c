// Callbacks for trainings that run to their end and tell nobody.
#pragma once

inline const auto kNeverStop = [] { return false; };
inline const auto kSilent = [](auto&&...) {};
