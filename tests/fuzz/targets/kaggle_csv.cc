// Submissions to the competition, written again.
#include "data/tpugraphs.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void kaggle_csv(Bytes input) {
  expect_errors([&] {
    const std::vector<KaggleRow> rows = decode_kaggle_csv(text_of(input), "file");
    encode_kaggle_csv(rows);
    TpuGraph graph;
    graph.runtime_ns = {1, 2};
    for (const KaggleRow& row : rows) expect_errors([&] { check_kaggle_row(row, graph, "file"); });
  });
}

}  // namespace hone::fuzz
