#include "sharding/mesh.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace hone::sharding {

TEST_CASE("meshes are sizes of axes", "[sharding]") {
  const Mesh mesh = parse_mesh("2x4");
  CHECK(mesh.sizes == std::vector<int>{2, 4});
  CHECK(mesh.devices() == 8);
  CHECK(mesh.text() == "2x4");
  CHECK(parse_mesh("2").devices() == 2);
  CHECK(parse_mesh("1x2").devices() == 2);
  for (const char* bad : {"", "x", "2x", "x2", "0", "-2", "1", "1x1", "2x-1", "2*4", "2x2x2x2x2", "65", "9x9", "2 4",
                          "99999999999999999999", "4x4x4x4", "2,4"})
    CHECK_THROWS_AS(parse_mesh(bad), Error);
}

TEST_CASE("shardings are written as HLO and JAX write them", "[sharding]") {
  const Mesh mesh = parse_mesh("2x4");
  CHECK(hlo_sharding(mesh, {{}, {}}) == "{replicated}");
  CHECK(hlo_sharding(mesh, {{0}, {1}}) == "{devices=[2,4]<=[8]}");
  CHECK(hlo_sharding(mesh, {{1}, {0}}) == "{devices=[4,2]<=[2,4]T(1,0)}");
  CHECK(hlo_sharding(mesh, {{}, {1}}) == "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  CHECK(hlo_sharding(mesh, {{0}, {}}) == "{devices=[2,1,4]<=[8] last_tile_dim_replicate}");
  CHECK(hlo_sharding(mesh, {{0, 1}}) == "{devices=[8]<=[8]}");
  CHECK(hlo_sharding(parse_mesh("1x2"), {{1}, {}}) == "{devices=[2,1]<=[1,2]T(1,0)}");
  CHECK(partition_spec(mesh, {{}, {}}) == "PartitionSpec()");
  CHECK(partition_spec(mesh, {{0}, {}}) == "PartitionSpec('x',)");
  CHECK(partition_spec(mesh, {{}, {1}}) == "PartitionSpec(None, 'y')");
  CHECK(partition_spec(mesh, {{0, 1}, {}}) == "PartitionSpec(('x', 'y'),)");
}

TEST_CASE("a dimension is divided into equal parts or not at all", "[sharding]") {
  const Mesh mesh = parse_mesh("2x4");
  CHECK(divides(mesh, {{0}, {1}}, {6, 8}));
  CHECK_FALSE(divides(mesh, {{0}, {1}}, {6, 6}));
  CHECK_FALSE(divides(mesh, {{0, 1}, {}}, {4, 8}));
  CHECK_FALSE(divides(mesh, {{0}}, {0}));
  CHECK(divides(mesh, {{}, {}}, {3, 5}));
}

}  // namespace hone::sharding
