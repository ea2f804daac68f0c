// What a process gives up for good: files, the network, other processes. Linux's Landlock and seccomp; see SECURITY.md.
#pragma once

#include <string>
#include <vector>

namespace hone {

// What the kernel offers, or what of it is in force.
struct Sandbox {
  int landlock = 0;      // version of Landlock's interface; 0 = none
  bool seccomp = false;  // filters of system calls
  bool whole() const { return landlock > 0 && seccomp; }
};
Sandbox sandbox_support();

// From now on this process and all that its threads begin can
// - read files below `readable` and `writable`, and the system's own: /usr, /lib, /etc, /proc, /sys, /dev, and the folders of the
//   libraries that it has loaded,
// - write, make and remove files below `writable`, and write to /dev/null,
// - use the descriptors that it has,
// and nothing else of files; it makes no sockets, starts no processes or programs, and sends no signals to others. What is refused fails with
// EACCES or EPERM. Paths that do not exist are passed over. Call it before there are threads: Landlock holds for the calling thread and
// those that it starts. Returns what is in force: less than asked for where the kernel has less.
Sandbox enter_sandbox(const std::vector<std::string>& readable, const std::vector<std::string>& writable);

}  // namespace hone
