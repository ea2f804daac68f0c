// Packed layout data (.layouts), mapped, and every configuration of it.
#include "options/layout_files.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void packed_layouts(Bytes input) {
  const MemoryFile file(input);
  expect_errors([&] {
    const options::ConfigGraph graph = options::open_packed_layouts(file.path());
    for (int64_t i = 0; i < graph.configurations(); ++i)
      for (const uint64_t packed : graph.config(i)) options::unpack_axes(packed);
    options::prune(graph);
    options::distinct_configs(graph);
  });
}

}  // namespace hone::fuzz
