#include "go/go_scores.h"

#include <string>

#include "base/error.h"

namespace hone::go {

void require_devices(const options::GoOptions& options, const GoGraph& graph) {
  if (graph.devices <= options.devices) return;
  throw Error("the topology has " + std::to_string(graph.devices) + " devices, the policy supports " +
                  std::to_string(options.devices),
              "--devices", "train a policy with more");
}

}  // namespace hone::go
