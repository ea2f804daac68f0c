#include "base/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/files.h"
#include "tests/skip.h"

using namespace hone;

namespace {

// The exit status of a process that calls it.
int in_a_process(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// 0, or the error of opening it.
int opened(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags, 0600);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

struct Folders {
  TempDir readable{"hone-sandbox"}, writable{"hone-sandbox"}, other{"hone-sandbox"};
  Folders() {
    for (const TempDir* folder : {&readable, &writable, &other}) std::ofstream(file(*folder)) << "text";
  }
  static std::string file(const TempDir& folder) { return (folder.path() / "file").string(); }
  // In a process of its own, which has given up its rights.
  int within(const std::function<int()>& body) const {
    return in_a_process([&] {
      enter_sandbox({readable.path().string(), "/no/such/folder", ""}, {writable.path().string()});
      return body();
    });
  }
};

}  // namespace

TEST_CASE("a process keeps the files that it asks for, and no others", "[base]") {
  if (sandbox_support().landlock == 0) return skip_case("this kernel has no Landlock");
  const Folders folders;
  const std::string readable = Folders::file(folders.readable), writable = Folders::file(folders.writable),
                    other = Folders::file(folders.other);
  const auto reading = [&](const std::string& path) { return folders.within([&] { return opened(path, O_RDONLY); }); };
  const auto writing = [&](const std::string& path) { return folders.within([&] { return opened(path, O_WRONLY); }); };
  CHECK(reading(readable) == 0);
  CHECK(reading(writable) == 0);
  CHECK(reading("/etc/passwd") == 0);
  CHECK(reading("/proc/self/status") == 0);
  CHECK(reading(other) == EACCES);
  CHECK(writing(writable) == 0);
  CHECK(writing("/dev/null") == 0);
  CHECK(writing(readable) == EACCES);
  CHECK(writing(other) == EACCES);
  const auto create = [&](const TempDir& folder) {
    return folders.within([&] { return opened((folder.path() / "new").string(), O_WRONLY | O_CREAT); });
  };
  CHECK(create(folders.writable) == 0);
  CHECK(create(folders.readable) == EACCES);
  CHECK(folders.within([&] { return ::unlink(readable.c_str()) == 0 ? 0 : errno; }) == EACCES);
  CHECK(folders.within([&] { return ::unlink(writable.c_str()) == 0 ? 0 : errno; }) == 0);
  CHECK(read_file(readable) == "text");
}

TEST_CASE("a process gives up the network and other processes, not its threads", "[base]") {
  if (!sandbox_support().seccomp) return skip_case("this kernel has no filters of system calls");
  const Folders folders;
  CHECK(folders.within([] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : errno; }) == EPERM);
  CHECK(folders.within([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : errno; }) == EPERM);
  CHECK(folders.within([] { return ::kill(::getppid(), 0) == 0 ? 0 : errno; }) == EPERM);
  CHECK(folders.within([] { return ::fork() >= 0 ? 0 : errno; }) == EPERM);
  CHECK(folders.within([] {
    char name[] = "/bin/true";
    char* const arguments[] = {name, nullptr};
    ::execv(name, arguments);
    return errno;
  }) == EPERM);
  CHECK(folders.within([] {
    int sum = 0;
    std::thread([&sum] { sum = opened("/etc/shadow-of-nothing", O_RDONLY) == ENOENT ? 7 : 1; }).join();
    return sum;
  }) == 7);
  CHECK(folders.within([] { return (::signal(SIGABRT, SIG_DFL), ::abort(), 0); }) == 128 + SIGABRT);
  CHECK(in_a_process([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : errno; }) == 0);
}
