// Fuzz targets: each gives bytes, as a file, a message or an argument may hold them, to what the project reads them with.
// Declared errors (base/error.h) are answers. Anything else is a finding: another exception, a report of a sanitizer, a hang.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace hone::fuzz {

using Bytes = std::span<const uint8_t>;

// One function for each row of targets.def, in a file of its name.
#define TARGET(name, ...) void name(Bytes input);
#include "tests/fuzz/targets/targets.def"
#undef TARGET

std::string text_of(Bytes input);
// The first byte, for targets with several readers, modulo `choices`; 0 for an empty input. Moves `input` behind it.
int take_choice(Bytes& input, int choices);
// Runs `read`; hone::Error is an answer.
void expect_errors(const std::function<void()>& read);

// A file in memory with these bytes, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace hone::fuzz
