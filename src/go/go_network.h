// The forward pass of a graph policy without torch: its layers are those of learn/go/go_policy.h, its scores the same up to
// rounding (tests/learn/go_network_test.cc).
#pragma once

#include <memory>
#include <string>

#include "go/go_file.h"
#include "go/go_scores.h"

namespace hone::go {

// The policy of `file`. Throws Error if its tensors are missing or do not fit. With more threads scores are the same bits.
std::unique_ptr<GoScorer> make_go_network(const GoPolicyFile& file, int threads);

}  // namespace hone::go
