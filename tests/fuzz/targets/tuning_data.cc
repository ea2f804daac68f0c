// TpuGraphs' modules with their measured configurations, as arrays.
#include "data/tpugraphs.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void tuning_data(Bytes input) {
  expect_errors([&] {
    for (const features::TuningModule& module : features::read_tuning_data(text_of(input)))
      expect_errors([&] { tpu_graph_arrays(tpu_graph_of(module, "graph", "file")); });
  });
}

}  // namespace hone::fuzz
