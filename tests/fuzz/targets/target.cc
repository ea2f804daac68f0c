#include "tests/fuzz/targets/target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "base/error.h"

namespace hone::fuzz {

std::string text_of(Bytes input) { return {input.begin(), input.end()}; }

int take_choice(Bytes& input, int choices) {
  if (input.empty()) return 0;
  const int choice = input[0] % choices;
  input = input.subspan(1);
  return choice;
}

void expect_errors(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

MemoryFile::MemoryFile(Bytes bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  if (descriptor_ < 0 || ::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("no file in memory can be made");
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

}  // namespace hone::fuzz
