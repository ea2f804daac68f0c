// Logging: spdlog::info, warn, debug and so on, to standard error.
#pragma once

#include <spdlog/spdlog.h>

namespace hone {

enum class Verbosity { Quiet, Normal, Verbose };  // errors only; information; everything, with times

// Sets up spdlog's default logger. Call once, at the start of main.
void set_up_log(Verbosity verbosity);

}  // namespace hone
