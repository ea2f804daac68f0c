#include "data/stored_kernel.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/files.h"
#include "data/database.h"
#include "tests/data/old_schema.h"

namespace hone {
namespace {

StoredKernel stored_kernel(const std::string& fingerprint, const std::string& program = "mlp") {
  StoredKernel kernel;
  kernel.fingerprint = fingerprint;
  kernel.program = program;
  kernel.family = "perceptron";
  kernel.kind = "fusion";
  kernel.name = "add_fusion.3";
  kernel.decision = "kernel";
  kernel.options = {"default", "loop", "tile=8,8"};
  kernel.default_tile = "8,16";
  kernel.flops = 1e6;
  kernel.transcendentals = 20;
  kernel.bytes_read = 4096;
  kernel.bytes_written = 1024;
  kernel.hlo = "HloModule m\n" + std::string(10000, 'x');
  kernel.module_proto = std::string("\0\1\2\xff proto", 10);
  return kernel;
}

}  // namespace

TEST_CASE("kernels come back as they were stored", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "kernels.db";
  const StoredKernel stored = stored_kernel("k1");
  {
    Database database = Database::open(path);
    CHECK(database.add_kernel(stored));
    StoredKernel again = stored;
    again.program = "another";
    CHECK_FALSE(database.add_kernel(again));  // stored once, with its first program
    again.threads = 2;
    CHECK(database.add_kernel(again));
    CHECK(database.add_kernel(stored_kernel("k2")));
    CHECK(database.add_kernel(stored_kernel("k3", "conv")));
  }
  const Database database = Database::open(path, {.read_only = true});
  const auto found = database.find_stored_kernel("k1", 1);
  REQUIRE(found);
  CHECK(found->program == "mlp");
  CHECK(found->family == stored.family);
  CHECK(found->kind == stored.kind);
  CHECK(found->name == stored.name);
  CHECK(found->decision == stored.decision);
  CHECK(found->options == stored.options);
  CHECK(found->default_option == 0);
  CHECK(found->default_tile == stored.default_tile);
  CHECK(found->flops == stored.flops);
  CHECK(found->transcendentals == stored.transcendentals);
  CHECK(found->bytes_read == stored.bytes_read);
  CHECK(found->bytes_written == stored.bytes_written);
  CHECK(found->hlo == stored.hlo);
  CHECK(found->module_proto == stored.module_proto);
  CHECK_FALSE(database.find_stored_kernel("k1", 3));

  const auto all = database.stored_kernels(1);
  REQUIRE(all.size() == 3);
  CHECK(all[0].fingerprint == "k1");
  CHECK(all[0].options == 3);
  CHECK(all[2].program == "conv");
  CHECK(database.stored_kernels(1, "mlp").size() == 2);
  CHECK(database.stored_kernels(1, "mlp", 1).size() == 1);
  CHECK(database.stored_kernels(2).size() == 1);
  CHECK(database.stored_kernels(1, "none").empty());
}

TEST_CASE("programs store the number of their lowered configurations", "[data]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "programs.db");
  CHECK_FALSE(database.find_stored_program("mlp"));
  database.save_program({"mlp", "perceptron", "f1", "c1", 3});
  database.save_program({"mlp", "perceptron", "f1", "c1", 5});
  const auto found = database.find_stored_program("mlp");
  REQUIRE(found);
  CHECK(found->family == "perceptron");
  CHECK(found->fingerprint == "f1");
  CHECK(found->content == "c1");
  CHECK(found->configurations == 5);
}

TEST_CASE("invalid kernels are not stored", "[data]") {
  const TempDir folder;
  Database database = Database::open(folder.path() / "kernels.db");
  StoredKernel kernel = stored_kernel("k1");
  kernel.options.clear();
  CHECK_THROWS_AS(database.add_kernel(kernel), InternalError);
  kernel = stored_kernel("k1");
  kernel.default_option = 3;
  CHECK_THROWS_AS(database.add_kernel(kernel), InternalError);
  CHECK_THROWS_AS(database.add_kernel(stored_kernel("")), InternalError);
}

TEST_CASE("a database of the older schema gains the tables of kernels", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "old.db";
  execute_sql(path, kSchema1);
  {
    const Database old = Database::open(path, {.read_only = true});
    CHECK(old.info().schema_version == 1);
    CHECK(old.stored_kernels(1).empty());
    CHECK_FALSE(old.find_stored_kernel("k1", 1));
    CHECK_FALSE(old.find_stored_program("mlp"));
    CHECK(old.check().empty());
  }
  Database database = Database::open(path);
  CHECK(database.info().schema_version == 6);
  CHECK(database.add_kernel(stored_kernel("k1")));
  CHECK(Database::open(path).find_stored_kernel("k1", 1));
}

TEST_CASE("merging copies kernels and programs", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "from.db", old = folder.path() / "old.db";
  {
    Database from = Database::open(path);
    from.add_kernel(stored_kernel("k1"));
    from.add_kernel(stored_kernel("k2"));
    from.save_program({"mlp", "perceptron", "f1", "c1", 3});
  }
  Database to = Database::open(folder.path() / "to.db");
  to.add_kernel(stored_kernel("k2", "mine"));
  CHECK(to.merge(path).kernels_added == 1);
  CHECK(to.merge(path).kernels_added == 0);
  REQUIRE(to.find_stored_kernel("k1", 1));
  CHECK(to.find_stored_kernel("k1", 1)->module_proto == stored_kernel("k1").module_proto);
  CHECK(to.find_stored_kernel("k2", 1)->program == "mine");
  CHECK(to.find_stored_program("mlp"));
  execute_sql(old, kSchema1);
  CHECK(to.merge(old).kernels_added == 0);
}

TEST_CASE("damaged kernels are refused by name", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "kernels.db";
  Database::open(path).add_kernel(stored_kernel("k1"));
  execute_sql(path, "UPDATE kernels SET hlo = substr(hlo, 1, 20)");
  const Database database = Database::open(path);
  try {
    database.find_stored_kernel("k1", 1);
    FAIL("a damaged kernel was read");
  } catch (const Error& error) {
    CHECK_THAT(error.where(), Catch::Contains("k1"));
  }
}

TEST_CASE("packed bytes come back, damaged ones are refused", "[data]") {
  for (const std::string& bytes : {std::string(), std::string("\0a\0", 3), std::string(100000, 'z')})
    CHECK(unpack_bytes(pack_bytes(bytes)) == bytes);
  CHECK(pack_bytes(std::string(100000, 'z')).size() < 1000);
  const std::string packed = pack_bytes(std::string(1000, 'q') + "end");
  CHECK_THROWS_AS(unpack_bytes(packed.substr(0, 4)), Error);
  CHECK_THROWS_AS(unpack_bytes(packed.substr(0, packed.size() - 1)), Error);
  std::string huge = packed;
  huge[7] = '\x7f';
  CHECK_THROWS_AS(unpack_bytes(huge), Error);
}

}  // namespace hone
