// Submissions to the competition, written again and checked against a graph.
#include "data/submission.h"

#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void submission(Bytes input) {
  expect_errors([&] {
    const std::vector<SubmissionRow> rows = decode_submission(text_of(input), "file");
    encode_submission(rows);
    const RankedGraph graph{"file", rows[0].name, rows[0].collection, TpuCollection::Layout, 2};
    for (const bool all : {false, true}) expect_errors([&] { check_submission(rows, {&graph, 1}, "file", all); });
  });
}

}  // namespace hone::fuzz
