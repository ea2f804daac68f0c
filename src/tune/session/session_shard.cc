// Session: the program on several devices.
#include "tune/session/session.h"
#include "wire/despite_kills.h"

namespace hone::tune {

wire::PartitionReplyT Session::partitioned(const wire::PartitioningT& partitioning, bool want_hlo) {
  return wire::despite_kills([&] {
    wire::PartitionRequestT request;
    request.program = program_.program;
    request.target = wire_target();
    request.partitioning = std::make_unique<wire::PartitioningT>(partitioning);
    request.want_hlo = want_hlo;
    return worker_.call<wire::PartitionReplyT>(std::move(request));
  });
}

wire::RunShardedReplyT Session::run_sharded(const std::vector<wire::PartitioningT>& candidates, const Duel& duel) {
  wire::RunShardedRequestT request;
  request.program = program_.program;
  request.target = wire_target();
  for (const wire::PartitioningT& candidate : candidates)
    request.candidates.push_back(std::make_unique<wire::PartitioningT>(candidate));
  request.min_rounds = duel.min_rounds;
  request.max_rounds = duel.max_rounds;
  request.budget_ms = duel.budget_ms;
  return worker_.call<wire::RunShardedReplyT>(std::move(request), duel.limit_s);
}

}  // namespace hone::tune
