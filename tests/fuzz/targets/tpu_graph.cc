// Graphs of TpuGraphs from memory and from a mapped file, and what layout models take of them.
#include "data/tpugraphs.h"
#include "options/layout_files.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void tpu_graph(Bytes input) {
  expect_errors([&] {
    const TpuGraph graph = decode_tpu_graph(decode_npz(input, "file"), "graph", "file");
    tpu_graph_arrays(graph);
  });
  const MemoryFile file(input);
  expect_errors([&] {
    const options::ConfigGraph graph = options::read_layout_npz(file.path());
    options::prune(graph);
    options::distinct_configs(graph);
  });
}

}  // namespace hone::fuzz
