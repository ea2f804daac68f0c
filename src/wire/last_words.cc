// The error message of a crashed worker, in one line.
#include <algorithm>
#include <string>
#include <string_view>

#include "wire/process.h"

namespace hone::wire {
namespace {

// How informative a line is about the crash; 0 = not at all.
int weight(std::string_view line) {
  const auto has = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
  const bool fatal_log = has(": F ") || (line.size() > 5 && line[0] == 'F' && line[1] >= '0' && line[1] <= '9');
  if (line.starts_with("*** Check failure stack trace")) return 0;
  if (has("Check failed") || fatal_log || has("LLVM ERROR") || has("Assertion")) return 4;
  if (has("terminate called") || has("what():")) return 3;
  if (has("bad_alloc") || has("ut of memory") || has("Cannot allocate memory")) return 3;
  if (line.starts_with("*** SIG") || has("Segmentation fault") || has("Fatal") || has("fatal error")) return 2;
  return 0;
}

// Information and warnings of XLA's logger: "I0000 00:00:...", "2026-...: W ...".
bool is_chatter(std::string_view line) {
  const bool short_form = line.size() > 5 && (line[0] == 'I' || line[0] == 'W') && line[1] >= '0' && line[1] <= '9';
  const size_t severity = line.find(": I ") == std::string_view::npos ? line.find(": W ") : line.find(": I ");
  const bool preamble = line.find("before absl::InitializeLog()") != std::string_view::npos;
  return short_form || severity < 40 || preamble;
}

// Drops the date and severity XLA's logs begin with.
std::string_view without_log_prefix(std::string_view line) {
  const size_t severity = line.find(": F ");
  return severity != std::string_view::npos && severity < 40 ? line.substr(severity + 4) : line;
}

}  // namespace

std::string last_words(std::string_view errors) {
  constexpr size_t kMaxBytes = 300;
  std::string best, previous;
  int best_weight = -1;
  while (!errors.empty()) {
    const size_t end = std::min(errors.find('\n'), errors.size());
    std::string line(without_log_prefix(errors.substr(0, end)));
    errors.remove_prefix(std::min(end + 1, errors.size()));
    std::replace_if(line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    line.erase(0, line.find_first_not_of(' '));
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.empty() || is_chatter(line)) continue;
    const int line_weight = weight(line);
    // what() explains the line above it. The first line of the highest weight is the cause; of weight 0, the last.
    if (line.starts_with("what():") && previous.find("terminate called") != std::string::npos && best == previous)
      best += ", " + line;
    else if (line_weight > best_weight || (line_weight == 0 && best_weight == 0))
      best = line, best_weight = line_weight;
    previous = line;
  }
  if (best.size() <= kMaxBytes) return best;
  size_t cut = kMaxBytes - 3;
  while (cut > 0 && (static_cast<unsigned char>(best[cut]) & 0xc0) == 0x80) --cut;  // not inside a UTF-8 character
  return best.substr(0, cut) + "...";
}

}  // namespace hone::wire
