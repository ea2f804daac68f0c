// Serialised HLO modules, and what is made of their graphs without XLA.
#include "features/columns.h"
#include "features/encode.h"
#include "features/tpugraphs.h"
#include "graph/hlo_reader.h"
#include "place/place_graph.h"
#include "sharding/arguments.h"
#include "sharding/signatures.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void hlo_graph(Bytes input) {
  expect_errors([&] {
    const HloGraph graph = read_hlo_graph(text_of(input));
    expect_errors([&] { features::encode_graph(graph, features::kTpuGraphsFeatures); });
    expect_errors([&] { features::encode_kernel(graph, {}); });
    expect_errors([&] { features::encode_tile_graph(graph); });
    expect_errors([&] { place::program_graph(graph, {}); });
    expect_errors([&] { sharding::read_arguments(graph, std::nullopt); });
    sharding::forward_signatures(graph);
    sharding::same_shape_classes(graph);
  });
}

}  // namespace hone::fuzz
