// Shardings on host devices: outputs compared with one device's, times beside it.
#pragma once

#include <string>
#include <vector>

#include "tune/session/session.h"

namespace hone::sharding {

// A ratio above 1: faster than one device. Ratios are medians of those of rounds, with the interval of base/stats.h.
struct RatioTo {
  double ratio = 0, low = 0, high = 0;
};

struct MeasuredSharding {
  tune::Outcome outcome = tune::Outcome::RunFailed;
  std::string note = {};
  double max_error = 0;                       // of its outputs from one device's, in units of the tolerance
  double seconds = 0;                         // the least of the rounds
  RatioTo one_thread = {}, all_threads = {};  // of one device
  int rounds = 0;
  double compile_ms = 0;
};

struct MeasuredShardings {
  int threads = 1;  // of one device with all of them
  double one_thread_seconds = 0, all_threads_seconds = 0;
  std::vector<MeasuredSharding> candidates;
};

// As the worker measured them. Throws RunError for a reply of another number of candidates.
MeasuredShardings measured_shardings(const wire::RunShardedReplyT& reply, size_t candidates);
// All taking turns in one process; where that process dies, each candidate in one of its own. Throws RunError where one device
// cannot run the program.
MeasuredShardings run_shardings(tune::Session& session, const std::vector<wire::PartitioningT>& candidates,
                                const tune::Duel& duel);

}  // namespace hone::sharding
