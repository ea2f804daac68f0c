#include "base/processes.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "base/files.h"

namespace hone {

std::vector<std::string> own_command_words() {
  const std::string text = read_file("/proc/self/cmdline");  // every argument ends with a zero byte
  std::vector<std::string> words;
  for (size_t first = 0; first < text.size(); first = text.find('\0', first) + 1)
    words.emplace_back(text.c_str() + first);
  return words;
}

OwnCopies::~OwnCopies() {
  for (pid_t pid : pids_) {
    kill(pid, SIGKILL);  // has no effect on a process that has already ended
    waitpid(pid, nullptr, 0);
  }
}

void OwnCopies::start(const std::vector<std::string>& more) {
  std::vector<std::string> words = own_command_words();
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0)
    throw RunError("cannot start another process", words.front());
  pids_.push_back(pid);
}

}  // namespace hone
