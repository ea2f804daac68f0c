// Ctrl-C: the first one asks, the second one ends.
#pragma once

#include <exception>

namespace hone {

// SIGINT and SIGTERM set a flag; a second one ends the process at once, as if there were no handler.
void install_interrupt_handler();

bool interrupted();
void clear_interrupt();  // forgets a signal received, as if none had come

// Thrown where work is given up because of interrupted().
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace hone
