#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr double kTerminalPeriod_s = 0.1, kPlainPeriod_s = 5;

// Ignores errors: work continues when a progress line cannot be shown.
void put(int fd, const std::string& text) {
  if (::write(fd, text.data(), text.size()) < 0) return;
}

// Units of this run: what an earlier one did says nothing about how fast this one is.
double done_here(double done, const ProgressOptions& options) { return done - options.known; }

// Seconds left according to the units done or the budget, whichever is less; negative = unknown.
double left_s(double done, const ProgressOptions& options, double elapsed_s) {
  double left = -1;
  const double here = done_here(done, options);
  if (options.total > 0 && here > 0) left = std::max(0.0, options.total - done) * elapsed_s / here;
  if (options.budget_s > 0) {
    const double budget_left = std::max(0.0, options.budget_s - elapsed_s);
    left = left < 0 ? budget_left : std::min(left, budget_left);
  }
  return left;
}

}  // namespace

Progress::Progress(std::string label, ProgressOptions options)
    : label_(std::move(label)), options_(std::move(options)) {
  if (!options_.now_s) options_.now_s = steady_s;
  terminal_ = ::isatty(options_.fd) == 1;
  start_s_ = options_.now_s();
  next_s_ = start_s_ + (terminal_ ? 0 : kPlainPeriod_s);
}

Progress::~Progress() { finish(); }

void Progress::update(double done, const std::string& note) {
  if (options_.quiet) return;
  const double now = options_.now_s();
  if (now < next_s_) return;
  next_s_ = now + (terminal_ ? kTerminalPeriod_s : kPlainPeriod_s);
  const std::string text = progress_text(label_, done, options_, now - start_s_, note);
  put(options_.fd, terminal_ ? "\r\x1b[K" + text : text + "\n");
  shown_ = true;
}

void Progress::finish() {
  if (terminal_ && std::exchange(shown_, false)) put(options_.fd, "\r\x1b[K");
}

std::string progress_text(const std::string& label, double done, const ProgressOptions& options, double elapsed_s,
                          const std::string& note) {
  std::string text = options.total > 0 ? fmt::format("{} {:.0f}/{:.0f}", label, done, options.total)
                                       : fmt::format("{} {:.0f}", label, done);
  const double here = done_here(done, options);
  if (elapsed_s > 0 && here > 0) text += fmt::format(" · {:.3g}/s", here / elapsed_s);
  const double left = left_s(done, options, elapsed_s);
  if (left >= 0) text += left < 60 ? fmt::format(" · {:.0f} s left", left) : " · " + human_ns(left * 1e9) + " left";
  if (!note.empty()) text += " · " + printable(note, 200);
  return text;
}

}  // namespace hone
