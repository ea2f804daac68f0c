#include <catch2/catch.hpp>
#include <string>

#include "base/files.h"
#include "base/sandbox.h"
#include "tests/passed_self_tests.h"
#include "tests/skip.h"
#include "wire/client.h"

using namespace hone;
using namespace hone::wire;

namespace {

// A line of /proc/PID/status, of a worker that has answered.
std::string status(const std::string& setting, const std::string& name) {
  WorkerOptions options;
  options.self_test_folder = passed_self_tests();
  if (!setting.empty()) options.environment = {"HONE_SANDBOX=" + setting};
  Worker worker(options);
  worker.call<HelloReplyT>(HelloRequestT{});
  const std::string text = read_file("/proc/" + std::to_string(worker.pid()) + "/status");
  const size_t at = text.find("\n" + name + ":") + name.size() + 2;
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("workers give up their rights unless they are told to keep them", "[wire]") {
  if (!sandbox_support().whole()) return skip_case("this kernel has not both Landlock and seccomp");
  CHECK(status("", "Seccomp") == "\t2");
  CHECK(status("", "NoNewPrivs") == "\t1");
  CHECK(status("required", "Seccomp") == "\t2");
  CHECK(status("off", "Seccomp") == "\t0");
  CHECK(status("off", "NoNewPrivs") == "\t0");
}
