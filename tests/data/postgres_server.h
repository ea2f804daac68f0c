// A PostgreSQL server for tests: Debian's programs, a temporary folder, a Unix socket and no network.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"

namespace hone {

class PostgresServer {
 public:
  // One server for the whole test program, started at the first call; null if Debian's postgresql is not installed or does
  // not start.
  static PostgresServer* shared() {
    static const std::unique_ptr<PostgresServer> server = [] {
      auto made = std::make_unique<PostgresServer>();
      if (!made->initialise()) made.reset();
      return made;
    }();
    return server.get();
  }
  ~PostgresServer() { stop(SIGQUIT); }

  // A new database's URL.
  std::string create_database() {
    const std::string name = "test" + std::to_string(++databases_);
    if (run({programs_ / "psql", "-q", "-h", socket(), "-U", "hone", "-d", "postgres", "-c",
             "CREATE DATABASE " + name}))
      return "";
    return url(name);
  }
  std::string url(const std::string& name) const { return "postgresql://hone@/" + name + "?host=" + socket(); }
  // Runs SQL on a separate connection.
  bool execute(const std::string& url, const std::string& sql) {
    return run({programs_ / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql}) == 0;
  }

  // Returns when the server accepts connections; false if it ended instead.
  bool start() {
    int output[2];
    if (pipe(output) != 0) return false;
    pid_ = spawn({programs_ / "postgres", "-D", data(), "-k", socket(), "-c", "listen_addresses=", "-c", "fsync=off",
                  "-c", "shared_buffers=16MB", "-c", "max_connections=20"},
                 output[1]);
    close(output[1]);
    std::string said;
    char byte;
    while (said.find("ready to accept connections") == std::string::npos && read(output[0], &byte, 1) == 1)
      said += byte;
    log_ = output[0];  // kept open, since the server continues to write
    return said.find("ready to accept connections") != std::string::npos;
  }
  // SIGINT: orderly shutdown; SIGQUIT: like a crash.
  void stop(int signal) {
    if (pid_ <= 0) return;
    kill(pid_, signal);
    char discarded[4096];
    while (read(log_, discarded, sizeof discarded) > 0) continue;
    close(log_);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  std::string data() const { return folder_.path() / "data"; }
  std::string socket() const { return folder_.path(); }

  bool initialise() {
    const std::filesystem::path root = "/usr/lib/postgresql";
    std::error_code none;
    for (const auto& version : std::filesystem::directory_iterator(root, none))
      if (std::filesystem::exists(version.path() / "bin" / "initdb")) programs_ = version.path() / "bin";
    if (programs_.empty()) return false;
    if (geteuid() == 0) {  // PostgreSQL refuses to run as root
      const passwd* user = getpwnam("postgres");
      if (user == nullptr) user = getpwnam("nobody");
      if (user == nullptr || chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) != 0) return false;
      user_ = user->pw_uid;
      group_ = user->pw_gid;
    }
    return run({programs_ / "initdb", "-D", data(), "-U", "hone", "-A", "trust", "-E", "UTF8", "--locale=C",
                "--no-sync"}) == 0 &&
           start();
  }

  // Starts a program as the server's user. `output` receives both its outputs; -1 discards them.
  pid_t spawn(const std::vector<std::string>& command, int output) {
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = getpid(), child = fork();
    if (child != 0) return child;
    if (user_ != 0 && (setgroups(0, nullptr) != 0 || setgid(group_) != 0 || setuid(user_) != 0)) _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != parent || chdir("/") != 0) _exit(126);
    if (output < 0) output = ::open("/dev/null", O_WRONLY);
    dup2(output, 1);
    dup2(output, 2);
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    setenv("LC_ALL", "C", 1);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int run(const std::vector<std::string>& command) {
    int status = 0;
    waitpid(spawn(command, -1), &status, 0);
    return status;
  }

  TempDir folder_{"hone-pg"};
  std::filesystem::path programs_;
  uid_t user_ = 0;
  gid_t group_ = 0;
  pid_t pid_ = -1;
  int log_ = -1, databases_ = 0;
};

}  // namespace hone
