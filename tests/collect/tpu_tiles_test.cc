#include "collect/tpu_tiles.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "tests/graph/module_proto.h"

namespace hone::collect {
namespace {

constexpr const char* kHost = "cpu, 2 cores";

// A fused negation of f32[6,16] that lies in memory column by column; XLA's own tile is 6 x 4.
StoredKernel column_kernel(const std::string& opcode = "negate") {
  int64_t next = 1;
  const std::string shape = test::array(test::kF32, {6, 16}, {0, 1});
  test::ComputationProto fused("fused", 1, next), entry("main", 2, next);
  fused.add("top", opcode, shape, {fused.parameter(0, shape)});
  entry.add("fusion", "fusion", shape, {entry.parameter(0, shape)}, [](test::pbf_writer& out) {
    out.add_string(11, "kLoop");
    test::add_packed(out, 38, {1});
  });
  StoredKernel kernel;
  kernel.fingerprint = "k1", kernel.program = "mine", kernel.kind = "fusion", kernel.name = "fusion";
  kernel.decision = "kernel";
  kernel.options = {"default", "loop", "loop;slp=0", "tile=2,8", "tile=3,2,8", "loop;partitions=4", "tile=1,1"};
  kernel.default_tile = "6,4";
  kernel.hlo = "HloModule m";
  kernel.module_proto = test::module("m", {&fused, &entry});
  return kernel;
}

Record row_of(const std::string& value, double ratio, const std::string& status = "ok") {
  Record row;
  row.scope = "kernel", row.program = "p", row.kernel = "k1", row.decisions = value, row.status = status;
  row.baseline_ns = 1000, row.candidate_ns = 1000 / ratio;
  row.ratio = row.ratio_low = row.ratio_high = ratio;
  row.rounds = 3, row.verified = status == "ok", row.host = kHost, row.xla_version = "2.21.0";
  return row;
}

std::vector<float> config(const TpuGraph& graph, int64_t index) {
  return {graph.config_feat.begin() + index * 24, graph.config_feat.begin() + (index + 1) * 24};
}

// The 24 columns of kernel and output bounds.
std::vector<float> columns(const std::vector<int64_t>& kernel, const std::vector<int64_t>& output) {
  features::TileBounds bounds;
  bounds.kernel = kernel, bounds.output = output;
  return features::encode_tile_config(bounds);
}

}  // namespace

TEST_CASE("measured tiles become configurations of the tile collection", "[collect]") {
  const std::optional<TpuGraph> graph = tpu_tiles(
      column_kernel(), {row_of("loop", 0.5), row_of("loop;slp=0", 1.1), row_of("tile=2,8", 2.0),
                        row_of("tile=3,2,8", 0.25), row_of("loop;partitions=4", 3), row_of("tile=1,1", 0, "mismatch")});
  REQUIRE(graph);
  CHECK(graph->collection == TpuCollection::Tile);
  CHECK(graph->name == "mine_k1");
  CHECK(graph->nodes() == 2);
  CHECK(graph->edge_index == std::vector<int64_t>{1, 0});
  CHECK(graph->runtime_ns == std::vector<double>{1000, 2000, 500, 4000});
  CHECK(graph->normalizer_ns == std::vector<double>(4, 1000));
  CHECK(config(*graph, 0) == columns({}, {4, 6}));  // from the slowest dimension in memory, the second, to the fastest
  CHECK(config(*graph, 1) == columns({}, {}));      // loops without a tile
  CHECK(config(*graph, 2) == columns({}, {8, 2}));
  CHECK(config(*graph, 3) == columns({3}, {8, 2}));
}

TEST_CASE("kernels without two options that the tile collection can tell apart are left out", "[collect]") {
  CHECK_FALSE(tpu_tiles(column_kernel(), {row_of("loop;slp=0", 1.1), row_of("loop;partitions=4", 3)}));
  CHECK_FALSE(tpu_tiles(column_kernel(), {}));
  CHECK_THROWS_AS(tpu_tiles(column_kernel("no-such-opcode"), {row_of("loop", 0.5)}), Error);
}

TEST_CASE("kernels of one program are exported to a folder of tile files", "[collect]") {
  const TempDir folder;
  Database database = Database::open((folder.path() / "k.db").string());
  database.add_kernel(column_kernel());
  StoredKernel other = column_kernel();
  other.fingerprint = "k2", other.program = "another";
  database.add_kernel(other);
  database.add(row_of("tile=2,8", 2.0));
  const std::string out = (folder.path() / "tiles").string();
  const TpuTilesReport report = export_tpu_tiles(database, "mine", out, {});
  CHECK(report.files == std::vector<std::string>{out + "/mine_k1.npz"});
  CHECK(report.configurations == 2);
  CHECK(report.host == kHost);
  CHECK(read_tpu_graph(report.files[0]).runtime_ns == std::vector<double>{1000, 500});
  CHECK_THROWS_WITH(export_tpu_tiles(database, "another", out, {}), Catch::Contains("'another'"));
  CHECK_THROWS_WITH(export_tpu_tiles(database, "unknown", out, {}), Catch::Contains("'unknown'"));
}

}  // namespace hone::collect
