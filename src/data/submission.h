// Submissions to the competition "Google - Fast or Slow? Predict AI Model Runtime": a CSV file with the header ID,TopConfigs and one row
// for each graph file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/tpugraphs.h"

namespace hone {

inline constexpr int kTopTiles =
    5;  // configurations in a row of a tile collection; a row of a layout collection has all

// A graph file that a submission has a row for.
struct RankedGraph {
  std::string path, name;  // name: of the file, without folder and extension
  std::string collection;  // "tile:xla", "layout:nlp:random"; empty if its folders do not say
  TpuCollection kind{};    // which arrays it has
  int64_t configurations = 0;
  std::string id() const { return collection + ":" + name; }
};
// The .npz files that `paths`, files or folders, name, by path; of a file only its arrays' names and number of run times are
// read. The collection is read from folders, .../layout/xla/random/test/NAME.npz, unless `collection` is given. Throws Error for
// a path that does not exist, no file at all, a file of neither collection, one whose arrays are not of its collection, and two
// files with one ID.
std::vector<RankedGraph> ranked_graphs(std::span<const std::string> paths, const std::string& collection = "");

// Configurations of one graph, best first.
struct SubmissionRow {
  std::string collection;  // "tile:xla", "layout:nlp:random"
  std::string name;        // of the graph
  std::vector<int64_t> configs;
  int64_t line = 0;  // in the file
  bool operator==(const SubmissionRow&) const = default;
};
// The row that scores give, one for each configuration, lower = faster; the earlier of equal ones first. Throws Error (where = the
// file) if their number is not the graph's, a score is NaN, or it is not known which collection the graph belongs to.
SubmissionRow submission_row(const RankedGraph& graph, std::span<const double> scores);

// `ID,TopConfigs`, then `collection:name,3;1;2`. Throws Error (where = file and line): another header, invalid
// numbers, duplicate indices or IDs.
std::vector<SubmissionRow> read_submission(const std::string& path);
std::vector<SubmissionRow> decode_submission(const std::string& text, const std::string& where);
std::string encode_submission(std::span<const SubmissionRow> rows);
// Throws Error (where = file and line) for a row whose indices are not in range, or which has not all configurations of a layout
// file or more than kTopTiles of a tile file. With `all` also for a row whose ID is no graph's, and (where = file) for a graph without a
// row; else rows without a graph are passed over. Returns the number of rows that were compared with a graph.
int64_t check_submission(std::span<const SubmissionRow> rows, std::span<const RankedGraph> graphs,
                         const std::string& where, bool all);

}  // namespace hone
