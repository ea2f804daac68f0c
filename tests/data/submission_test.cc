#include "data/submission.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "data/npz.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// What the functions here read of a graph file.
void write_graph(const fs::path& path, TpuCollection kind, int64_t configurations) {
  fs::create_directories(path.parent_path());
  const std::vector<uint8_t> zeros(configurations * 8);
  const char* configs = kind == TpuCollection::Layout ? "node_config_feat" : "config_feat";
  const std::vector<NamedArray> arrays = {{"config_runtime", "s64", {configurations}, zeros},
                                          {configs, "s64", {configurations}, zeros}};
  write_npz(path.string(), arrays);
}

std::vector<RankedGraph> graphs_in(const fs::path& folder, const std::string& collection = "") {
  const std::string path = folder.string();
  return ranked_graphs({&path, 1}, collection);
}

const RankedGraph kLayout{"small.npz", "small", "layout:nlp:random", TpuCollection::Layout, 2};
const RankedGraph kTile{"k1.npz", "k1", "tile:xla", TpuCollection::Tile, 7};

template <class Call>
void refused(Call call, const std::string& why, const std::string& where) {
  try {
    call();
    FAIL_CHECK("accepted, expected: " << why);
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains(why));
    CHECK(error.where() == where);
  }
}

}  // namespace

TEST_CASE("submissions are read and written", "[data]") {
  const std::string text = "ID,TopConfigs\ntile:xla:k1,3;0;1\nlayout:nlp:random:small,1;0\n";
  const std::vector<SubmissionRow> rows = decode_submission(text, "a.csv");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == SubmissionRow{"tile:xla", "k1", {3, 0, 1}, 2});
  CHECK(rows[1].collection == "layout:nlp:random");
  CHECK(encode_submission(rows) == text);
  CHECK(decode_submission("ID,TopConfigs\r\ntile:xla:k1,3;0\r\n", "a.csv")[0].configs == std::vector<int64_t>{3, 0});

  const auto bad = [](const std::string& body, const std::string& why, const std::string& where = "a.csv, line 2") {
    refused([&] { decode_submission(body, "a.csv"); }, why, where);
  };
  bad("id;configs\nx", "first line", "a.csv, line 1");
  bad("ID,TopConfigs\n", "no rows", "a.csv");
  bad("ID,TopConfigs\nk1,3;0", "not an ID");
  bad("ID,TopConfigs\ntile:xla:k1,3;x", "'x' is not a configuration index");
  bad("ID,TopConfigs\ntile:xla:k1,-3", "'-3'");
  bad("ID,TopConfigs\ntile:xla:k1,3;3", "twice");
  bad("ID,TopConfigs\ntile:xla:k1,", "has no configuration");
  bad("ID,TopConfigs\ntile:xla:k1,1\ntile:xla:k1,2", "twice", "a.csv, line 3");
}

TEST_CASE("submissions are compared with the files they are for", "[data]") {
  const std::vector<RankedGraph> graphs = {kLayout, kTile};
  const SubmissionRow layout{"layout:nlp:random", "small", {1, 0}, 2}, tile{"tile:xla", "k1", {6, 0, 1}, 3};
  const auto check = [&](const std::vector<SubmissionRow>& rows, bool all = true) {
    return check_submission(rows, graphs, "a.csv", all);
  };
  CHECK(check({layout, tile}) == 2);
  CHECK(check({layout}, /*all=*/false) == 1);
  CHECK(check({{"tile:xla", "other", {0}, 2}}, /*all=*/false) == 0);
  const auto bad = [&](const SubmissionRow& row, const std::string& why) {
    refused([&] { check({layout, row}); }, why, "a.csv, line 3");
  };
  refused([&] { check({layout}); }, "the row of 'tile:xla:k1' is missing", "a.csv");
  bad({"tile:xla", "k1", {0, 7}, 3}, "configuration 7 is out of range");
  bad({"tile:xla", "k1", {0, 1, 2, 3, 4, 5}, 3}, "the best 5 count");
  bad({"tile:xla", "k2", {0}, 3}, "no graph file has the ID 'tile:xla:k2'");
  bad({"tile:nlp", "k1", {0}, 3}, "no graph file has the ID 'tile:nlp:k1'");
  refused([&] { check({{"layout:nlp:random", "small", {1}, 2}, tile}); }, "need all", "a.csv, line 2");
}

TEST_CASE("scores become rows of a submission", "[data]") {
  const std::vector<double> two = {2, 1}, seven = {3, 1, 1, 0, 9, 2, 8};
  CHECK(submission_row(kLayout, two) == SubmissionRow{"layout:nlp:random", "small", {1, 0}, 0});
  CHECK(submission_row(kTile, seven).configs == std::vector<int64_t>{3, 1, 2, 5, 0});
  refused([&] { submission_row(kLayout, seven); }, "7 scores for 2 configurations", "small.npz");
  const std::vector<double> none = {1, std::numeric_limits<double>::quiet_NaN()};
  refused([&] { submission_row(kLayout, none); }, "not a number", "small.npz");
  RankedGraph unknown = kLayout;
  unknown.collection.clear();
  refused([&] { submission_row(unknown, two); }, "which collection", "small.npz");
}

TEST_CASE("the folders of graph files say which collection they belong to", "[data]") {
  const TempDir folder;
  write_graph(folder.path() / "npz/layout/xla/random/test/a.npz", TpuCollection::Layout, 3);
  write_graph(folder.path() / "npz/layout/xla/default/test/a.npz", TpuCollection::Layout, 4);
  write_graph(folder.path() / "npz/tile/xla/test/k.npz", TpuCollection::Tile, 2);
  write_graph(folder.path() / "tile/other/l.npz", TpuCollection::Layout, 2);
  const std::vector<RankedGraph> graphs = graphs_in(folder.path());
  REQUIRE(graphs.size() == 4);
  CHECK(graphs[0].id() == "layout:xla:default:a");
  CHECK(graphs[0].configurations == 4);
  CHECK(graphs[1].id() == "layout:xla:random:a");
  CHECK(graphs[2].id() == "tile:xla:k");
  CHECK(graphs[3].collection.empty());  // a layout file in a folder that looks like one of tiles
  CHECK(graphs_in(folder.path() / "npz/tile", "tile:mine")[0].id() == "tile:mine:k");
  const std::string tile_path = (folder.path() / "npz/tile/xla/test/k.npz").string();
  refused([&] { graphs_in(tile_path, "layout:xla:random"); }, "a tile collection", tile_path);
  const std::string other = (folder.path() / "npz/layout/xla/random/test/a.npz").string();
  refused([&] { graphs_in(folder.path() / "npz/layout", "layout:x"); }, "two files have the ID 'layout:x:a'", other);
  refused([&] { graphs_in(folder.path() / "none"); }, "no such", (folder.path() / "none").string());
  fs::create_directories(folder.path() / "empty");
  refused([&] { graphs_in(folder.path() / "empty"); }, "no .npz", (folder.path() / "empty").string());
}

}  // namespace hone
