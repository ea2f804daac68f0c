// Shards with sound checksums, which whoever makes a file can give it, all arrays of every kernel, and its loops.
#include "data/shard.h"

#include "cost/loop_nest.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

namespace {

template <class T>
double sum(std::span<const T> values) {
  double all = 0;
  for (const T value : values) all += static_cast<double>(value);
  return all;
}

}  // namespace

void shard(Bytes input) {
  std::string content = text_of(input);
  if (content.size() >= sizeof(ShardHeader)) seal(content);
  const MemoryFile file({reinterpret_cast<const uint8_t*>(content.data()), content.size()});
  expect_errors([&] {
    const auto read = Shard::open(file.path());
    volatile double all = 0;
    for (int64_t i = 0; read && i < read->kernels(); ++i) {
      const KernelView kernel = read->kernel(i);
      expect_errors([&] { cost::loop_nest_of(kernel); });
      all = all + sum(kernel.opcodes) + sum(kernel.node_features) + sum(kernel.static_features) +
            sum(kernel.edge_from) + sum(kernel.edge_to) + sum(kernel.tiles) + sum(kernel.runtime_ns) +
            static_cast<double>(kernel.fingerprint.size() + std::string(kernel.kind).size());
    }
  });
}

}  // namespace hone::fuzz
