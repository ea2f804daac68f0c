// This program's own command line, and copies of it that work beside it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hone {

// The words this process was called with, the program's name first.
std::vector<std::string> own_command_words();

// Processes that run this program again. Ended and collected by the destructor, whatever they are doing then.
class OwnCopies {
 public:
  OwnCopies() = default;
  ~OwnCopies();
  OwnCopies(const OwnCopies&) = delete;
  OwnCopies& operator=(const OwnCopies&) = delete;

  // Starts one with this process's own words and `more`. Throws RunError.
  void start(const std::vector<std::string>& more);

 private:
  std::vector<pid_t> pids_;
};

}  // namespace hone
