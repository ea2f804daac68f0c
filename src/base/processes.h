// The command line of this process, and further processes that run the same program.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hone {

// The arguments of this process, the program's name first.
std::vector<std::string> own_command_words();

// Processes that run this program again. The destructor kills and reaps them.
class OwnCopies {
 public:
  OwnCopies() = default;
  ~OwnCopies();
  OwnCopies(const OwnCopies&) = delete;
  OwnCopies& operator=(const OwnCopies&) = delete;

  // Starts one with this process's arguments followed by `more`. Throws RunError.
  void start(const std::vector<std::string>& more);

 private:
  std::vector<pid_t> pids_;
};

}  // namespace hone
