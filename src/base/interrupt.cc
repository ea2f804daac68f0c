#include "base/interrupt.h"

#include <csignal>

namespace hone {
namespace {

volatile std::sig_atomic_t received = 0;

extern "C" void on_signal(int signal) {
  if (received) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  received = 1;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // SA_NODEFER lets the second signal end the process from inside the handler.
  action.sa_flags = SA_RESTART | SA_NODEFER;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return received != 0; }
void clear_interrupt() { received = 0; }

}  // namespace hone
