#include "base/interrupt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

using namespace hone;

TEST_CASE("the first signal sets the flag, the second ends the process") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      install_interrupt_handler();
      if (interrupted()) ::_exit(1);
      ::raise(signal);
      if (!interrupted()) ::_exit(2);
      clear_interrupt();
      ::raise(signal);
      if (!interrupted()) ::_exit(3);
      ::raise(signal);
      ::_exit(4);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == signal);
  }
}
