// What a dying worker wrote, as one line for a terminal.
#include <stdexcept>

#include "base/printable.h"
#include "tests/fuzz/targets/target.h"
#include "wire/process.h"

namespace hone::fuzz {

void worker_errors(Bytes input) {
  const std::string line = printable(wire::last_words(text_of(input)));
  for (const char c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) throw std::logic_error("a control character is shown");
}

}  // namespace hone::fuzz
