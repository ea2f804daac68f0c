// Random candidates of a program, over every kind of decision.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tune/session/session.h"

namespace hone::request {

// At most `count` distinct lists of decisions, none of them empty. In turn: other forms of operations and options of XLA (search/
// operation_forms.h), fusion (search/random_fusion.h), options of kernels, layouts (data/layout_space.h), passes, how weights are
// stored, and some of all of these together; fewer where a program has few choices. The same for the same seed. A list under which
// the program cannot be lowered is one of them: its check says so.
// `should_stop` is asked before each; what is drawn by then is returned.
std::vector<Decisions> random_decisions(tune::Session& session, int count, uint64_t seed,
                                        const std::function<bool()>& should_stop = {});

}  // namespace hone::request
