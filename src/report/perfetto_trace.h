// The search of a tune as a trace for Perfetto (ui.perfetto.dev): the bytes of a perfetto.protos.Trace.
#pragma once

#include <string>

#include "report/report.h"
#include "report/run_profile.h"

namespace hone::report {

// Tracks for kernels, programs and lowering with one slice per candidate (its decisions, outcome, ratio and interval,
// time, compile time and rounds as arguments), and a counter of the best gain over default XLA so far. Runs under XLA's
// profiler follow the search as separate processes with a slice per instruction; null for none. Throws Error for a
// report without a timeline, from an older version.
std::string perfetto_trace(const TuneReport& report, const RunProfile* before = nullptr,
                           const RunProfile* after = nullptr);

}  // namespace hone::report
