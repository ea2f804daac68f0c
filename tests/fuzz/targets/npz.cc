// .npz and .npy files: arrays from memory, then one after the other from a mapped file, whole and in pieces.
#include "data/npz.h"

#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void npz(Bytes input) {
  expect_errors([&] { decode_npz(input, "file"); });
  const MemoryFile file(input);
  expect_errors([&] {
    const NpzFile mapped(file.path());
    for (const std::string& name : mapped.names()) {
      expect_errors([&] { mapped.read(name); });
      expect_errors([&] { mapped.read_pieces(name, 64, [](const NamedArray&) {}); });
    }
  });
}

}  // namespace hone::fuzz
