#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "base/printable.h"

namespace hone {
namespace {

// %*: the message as one line for a terminal, since it may name files and quote libraries.
class PrintableMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& into) override {
    const std::string text = printable({message.payload.data(), message.payload.size()}, kLongest);
    into.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override { return std::make_unique<PrintableMessage>(); }

 private:
  static constexpr size_t kLongest = 4000;
};

}  // namespace

void set_up_log(Verbosity verbosity) {
  auto logger = std::make_shared<spdlog::logger>("hone", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  // On a terminal a message first clears the progress line, which has no line end.
  const std::string wipe = ::isatty(STDERR_FILENO) ? "\r\x1b[K" : "";
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableMessage>('*');
  formatter->set_pattern(wipe + (verbosity == Verbosity::Verbose ? "%H:%M:%S.%e %l: %*" : "hone: %*"));
  logger->set_formatter(std::move(formatter));
  logger->set_level(verbosity == Verbosity::Quiet     ? spdlog::level::err
                    : verbosity == Verbosity::Verbose ? spdlog::level::debug
                                                      : spdlog::level::info);
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace hone
