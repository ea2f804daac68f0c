// The search of a tune as a trace for Perfetto (ui.perfetto.dev): the bytes of a perfetto.protos.Trace.
#pragma once

#include <string>

#include "tune/report.h"

namespace hone::tune {

// Tracks for kernels, programs and lowering with one slice per candidate (what it is, outcome, ratio and interval, time,
// compile time, rounds as arguments), and a counter of the best gain over default XLA so far. Throws Error for a report
// without a timeline: packages of older versions, and results that came from the database.
std::string perfetto_trace(const TuneReport& report);

}  // namespace hone::tune
