// Converts the worker's replies into the tuners' types.
#pragma once

#include "data/record.h"
#include "graph/kernel.h"
#include "tune/session/measurer.h"
#include "wire/client.h"

namespace hone::tune {

// Throws InternalError for a value that is not in the enum.
Outcome outcome_of(wire::Verdict verdict);
Measurement measurement_of(const wire::MeasureReplyT& reply);
Measurement measurement_of(const Record& row);  // throws Error for an unknown status
Lowered lowered_of(const wire::LowerReplyT& reply);

}  // namespace hone::tune
