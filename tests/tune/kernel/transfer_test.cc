#include "tune/kernel/transfer.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/files.h"
#include "tests/tune/sum_kernel.h"

namespace hone::tune {
namespace {

class Memory {
 public:
  Memory() : database_(Database::open((folder_.path() / "m.db").string())) {}
  Transfer transfer(const std::string& host = "here") {
    Record conditions;
    conditions.program = "p";
    conditions.host = host;
    conditions.xla_version = "1";
    return {database_, conditions};
  }
  Database& database() { return database_; }

 private:
  TempDir folder_;
  Database database_;
};

std::vector<std::string> names(const Kernel& kernel, const std::vector<int>& options) {
  std::vector<std::string> list;
  for (int i : options) list.push_back(kernel.dimension.options[i]);
  return list;
}

}  // namespace

TEST_CASE("structures leave out names and sizes, and nothing else", "[tune]") {
  const KernelStructure one = structure_of(sum_kernel("a", 128, 64)), other = structure_of(sum_kernel("b", 256, 512));
  CHECK(one.exact == other.exact);
  CHECK(one.rough == other.rough);
  CHECK(one.dims == std::vector<int64_t>{128, 64});
  const KernelStructure product = structure_of(sum_kernel("a", 128, 64, "multiply"));
  CHECK(product.exact != one.exact);
  CHECK(product.rough != one.rough);
  CHECK(structure_of(sum_kernel("a", 128, 64, "add", test::kBf16)).exact != one.exact);
  CHECK_THROWS_AS(structure_of(a_kernel("k", {"default"})), Error);
}

TEST_CASE("a winner on another size becomes the option that is nearest in kind", "[tune]") {
  const Kernel kernel = sum_kernel("k", 32, 1024);
  const auto translated = [&](const std::string& value, std::vector<int64_t> from) {
    const int option = translated_option(kernel.dimension, value, from, {32, 1024});
    return option < 0 ? "none" : kernel.dimension.options[option];
  };
  CHECK(translated("tile=8,128", {64, 512}) == "tile=8,128");
  CHECK(translated("tile=8,512", {64, 512}) == "tile=8,1024");  // a whole row stays a whole row
  CHECK(translated("tile=64,8", {128, 512}) == "tile=32,8");
  CHECK(translated("loop;unroll=0", {1, 1}) == "loop;unroll=0");
  CHECK(translated("loop;slp=0", {1, 1}) == "none");
  CHECK(translated("eigen", {1, 1}) == "none");
}

TEST_CASE("winners on the kernels nearest in size come first", "[tune]") {
  Memory memory;
  Transfer transfer = memory.transfer();
  transfer.remember(sum_kernel("far", 1024, 1024), "loop", measured(1.3));
  transfer.remember(sum_kernel("near", 128, 128), "tile=8,8", measured(2));
  const Kernel kernel = sum_kernel("new", 128, 256);
  CHECK(names(kernel, transfer.options(kernel)) == std::vector<std::string>{"tile=8,8", "loop"});
  CHECK(names(kernel, transfer.options(kernel, 1)) == std::vector<std::string>{"tile=8,8"});

  SECTION("other hosts, structures and opcodes do not mix") {
    CHECK(memory.transfer("elsewhere").options(kernel).empty());
    CHECK(transfer.options(sum_kernel("new", 128, 256, "multiply")).empty());
    CHECK(transfer.options(a_kernel("k", {"default", "loop"})).empty());  // without its module
  }
  SECTION("if the default won on the nearest kernels, no option is returned") {
    transfer.remember(sum_kernel("same", 128, 256), "default", measured(1));
    CHECK(transfer.options(kernel, 1).empty());
  }
  SECTION("the rows are valid and do not belong to a kernel") {
    CHECK(memory.database().check().empty());
    CHECK(memory.database().find_kernel("near", "here", 1, "1").empty());
    CHECK(memory.database().info().records == 4);
  }
}

}  // namespace hone::tune
