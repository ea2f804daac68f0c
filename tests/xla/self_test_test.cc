// What a worker's start-up test finds, and what is kept of it.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "tests/tune/real_worker.h"
#include "wire/client.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

size_t seams_off(const wire::WorkerOptions& options) {
  wire::Worker worker(options);
  const auto reply = worker.call<wire::HelloReplyT>(wire::HelloRequestT{});
  CHECK(reply.seams.size() > 10);
  return static_cast<size_t>(
      std::count_if(reply.seams.begin(), reply.seams.end(), [](const auto& seam) { return !seam->ok; }));
}

// How many seams are off in a new worker.
size_t seams_off(const std::string& cache_folder, const std::string& xla_flags = "") {
  wire::WorkerOptions options = tune::with_worker().worker;
  options.cache_folder = cache_folder;
  options.self_test_folder.clear();
  if (!xla_flags.empty()) options.environment = {"XLA_FLAGS=" + xla_flags};
  return seams_off(options);
}

std::vector<fs::path> kept_in(const std::string& cache_folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(cache_folder) / "self-tests"))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

// What the first worker with the cache keeps.
fs::path first_passed(const std::string& cache_folder) {
  CHECK(seams_off(cache_folder) == 0);
  const std::vector<fs::path> kept = kept_in(cache_folder);
  REQUIRE(kept.size() == 1);
  return kept[0];
}

// The same file lives on when it is read, and gets a new time; a test that is passed again makes another.
ino_t file_number(const fs::path& path) {
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_ino;
}

}  // namespace

TEST_CASE("a worker takes an earlier one's word that all seams passed", "[self_test]") {
  if (tune::no_worker()) return;
  const TempDir folder;
  const std::string cache = (folder.path() / "objects").string();
  const fs::path kept = first_passed(cache);
  const ino_t number = file_number(kept);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(kept, long_ago);
  CHECK(seams_off(cache) == 0);
  CHECK(kept_in(cache) == std::vector<fs::path>{kept});
  CHECK(file_number(kept) == number);
  CHECK(fs::last_write_time(kept) > long_ago + std::chrono::hours(1));
}

TEST_CASE("that all seams passed is kept without a cache where a folder for it is named", "[self_test]") {
  if (tune::no_worker()) return;
  const TempDir folder;
  wire::WorkerOptions options = tune::with_worker().worker;
  options.cache_folder.clear();
  options.self_test_folder = (folder.path() / "self-tests").string();
  fs::create_directory(options.self_test_folder);
  CHECK(seams_off(options) == 0);
  const std::vector<fs::path> kept = kept_in(folder.path().string());
  REQUIRE(kept.size() == 1);
  const ino_t number = file_number(kept[0]);
  CHECK(seams_off(options) == 0);
  CHECK(file_number(kept[0]) == number);
}

TEST_CASE("a worker whose kept test is damaged tests itself again", "[self_test]") {
  if (tune::no_worker()) return;
  const TempDir folder;
  const std::string cache = (folder.path() / "objects").string();
  const fs::path kept = first_passed(cache);
  const std::string content = read_file(kept.string());
  write_file(kept.string(), content.substr(0, content.size() - 1));
  CHECK(seams_off(cache) == 0);
  CHECK(read_file(kept.string()) == content);
}

TEST_CASE("a worker whose XLA leaves out a pass turns its seam off, and keeps nothing", "[self_test]") {
  if (tune::no_worker()) return;
  const TempDir folder;
  const std::string cache = (folder.path() / "objects").string();
  first_passed(cache);
  CHECK(seams_off(cache, "--xla_disable_hlo_passes=fusion") > 0);
  CHECK(seams_off(cache, "--xla_disable_hlo_passes=fusion") > 0);
  CHECK(kept_in(cache).size() == 1);
}

}  // namespace hone
