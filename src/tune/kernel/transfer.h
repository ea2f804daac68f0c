// What won on similar kernels is tried first on a kernel never seen. Similar is a kernel of the same structure: the same
// instructions on the same types and ranks, in the same order and layouts, whatever their sizes; where none is known, one
// that computes with the same opcodes. docs/decisions/0011 says why it is not an embedding of the model.
//
// Winners are rows of the record database, under the structure's fingerprint in the place of a kernel's, so that they are
// found by index, on SQLite and PostgreSQL alike, and travel with `hone db merge`.
#pragma once

#include <string>
#include <vector>

#include "data/database.h"
#include "tune/session/measurer.h"

namespace hone::tune {

struct KernelStructure {
  std::string exact, rough;   // fingerprints, "structure:..." and "opcodes:..."
  std::vector<int64_t> dims;  // of the output
};
// Throws Error for a kernel without its module.
KernelStructure structure_of(const Kernel& kernel);

// The option that is to `kernel`, whose output is `to`, what `value` is to one of output `from`: a side of a tile that spans
// its dimension spans it again, others stay; of the options with the same other choices the nearest tile (by the ratios of
// its sides). -1 when there is none.
int translated_option(const Dimension& dimension, const std::string& value, const std::vector<int64_t>& from,
                      const std::vector<int64_t>& to);

class Transfer {
 public:
  // Only rows of this host, thread count and XLA are read and written. `program`: fingerprint of what is tuned.
  Transfer(Database& database, const Record& conditions) : database_(database), conditions_(conditions) {}

  // `value` won a complete search; it may be the default.
  void remember(const Kernel& kernel, const std::string& value, const Measurement& winner);
  // Distinct options of the kernel, without the default: what won on the most similar kernels, nearest in size first.
  // Empty where nothing similar is known or default XLA won on all that is nearest.
  std::vector<int> options(const Kernel& kernel, int most = 3) const;

 private:
  std::vector<int> winners(const std::string& structure, const Kernel& kernel, const std::vector<int64_t>& dims,
                           int most) const;

  Database& database_;
  Record conditions_;  // program, host, threads, seed, xla_version
};

}  // namespace hone::tune
