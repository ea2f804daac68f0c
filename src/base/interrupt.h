// Ctrl-C: the first one asks the work to stop, the second one ends the process.
#pragma once

#include <exception>

namespace hone {

// SIGINT and SIGTERM set a flag; a second one ends the process at once, as if there were no handler.
void install_interrupt_handler();

bool interrupted();
void clear_interrupt();  // resets the flag

// Thrown where work stops because interrupted() is true.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace hone
