// Topologies of devices (TOML).
#include "sim/topology.h"

#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void topology(Bytes input) {
  expect_errors([&] {
    const sim::Topology topology = sim::parse_topology(text_of(input), "file");
    topology.memory_bytes();
    for (int32_t to = 1; to < topology.size(); ++to) topology.transfer_seconds(0, to, 1e6);
  });
}

}  // namespace hone::fuzz
