#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace hone {

void set_up_log(Verbosity verbosity) {
  auto logger = std::make_shared<spdlog::logger>("hone", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  // On a terminal a message first clears the progress line, which has no line end.
  const std::string wipe = ::isatty(STDERR_FILENO) ? "\r\x1b[K" : "";
  logger->set_pattern(wipe + (verbosity == Verbosity::Verbose ? "%H:%M:%S.%e %l: %v" : "hone: %v"));
  logger->set_level(verbosity == Verbosity::Quiet     ? spdlog::level::err
                    : verbosity == Verbosity::Verbose ? spdlog::level::debug
                                                      : spdlog::level::info);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace hone
