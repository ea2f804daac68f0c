// The search of a tune as a trace for Perfetto (ui.perfetto.dev): the bytes of a perfetto.protos.Trace.
#pragma once

#include <string>

#include "report/report.h"
#include "report/run_profile.h"

namespace hone::report {

// Tracks for kernels, programs and lowering with one slice per candidate (what it is, outcome, ratio and interval, time,
// compile time, rounds as arguments), and a counter of the best gain over default XLA so far. Runs under XLA's profiler
// follow the search as processes of their own, a slice per instruction; null for none. Throws Error for a report without a
// timeline: those of older versions.
std::string perfetto_trace(const TuneReport& report, const RunProfile* before = nullptr,
                           const RunProfile* after = nullptr);

}  // namespace hone::report
