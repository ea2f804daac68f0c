// A simulated step as a trace for Perfetto (ui.perfetto.dev): the bytes of a perfetto.protos.Trace.
#pragma once

#include <string>

#include "sim/simulator.h"

namespace hone::place {

// A track per device with a slice per kernel (arguments: its operations, its priority, whether it is on the critical
// path), and a track per used link with a slice per transfer.
std::string place_trace(const sim::Simulator& simulator, const sim::Plan& plan, const sim::StepTrace& trace);

}  // namespace hone::place
