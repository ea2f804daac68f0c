// Tries the options that won on similar kernels first on a new kernel. Similar kernels have the same structure: the
// same instructions on the same types and ranks, in the same order and layouts, of any size; if none is known, the same
// set of opcodes. docs/decisions/0011 explains why this is not an embedding of the model.
//
// Winners are rows of the record database, with the structure's fingerprint instead of a kernel's, so that they are
// found by index, on SQLite and PostgreSQL alike, and are copied by `hone db merge`.
#pragma once

#include <string>
#include <utility>
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

// Translates the option `value` of a kernel with the output dimensions `from` to a kernel with the output dimensions
// `to`: a side of the tile that spans its dimension spans it again, others stay the same. Among the options that agree
// otherwise, the one with the nearest tile (by the ratios of its sides). -1 when there is none.
int translated_option(const Dimension& dimension, const std::string& value, const std::vector<int64_t>& from,
                      const std::vector<int64_t>& to);

// What rows of shipped winners have as their host: they are read on every machine with this instruction set.
inline std::string machine_class(const std::string& isa) { return "any with " + isa; }

class Transfer {
 public:
  // Only rows of this host, thread count and XLA version are read and written. `program`: its fingerprint. `known`: winners
  // from other machines, of the host `known_class`, which count where the database has none; null = none. Both databases
  // must outlive this.
  Transfer(Database& database, const Record& conditions, const Database* known = nullptr, std::string known_class = "")
      : database_(database), conditions_(conditions), known_(known), known_class_(std::move(known_class)) {}

  // `value` won a complete search; it may be the default.
  void remember(const Kernel& kernel, const std::string& value, const Measurement& winner);
  // Distinct options of the kernel, without the default, that won on the most similar kernels, nearest in size first.
  // Empty if no similar kernel is known or default XLA won on all of the nearest.
  std::vector<int> options(const Kernel& kernel, int most = 3) const;

 private:
  std::vector<int> winners(const Database& database, const std::string& host, const std::string& structure,
                           const Kernel& kernel, const std::vector<int64_t>& dims, int most) const;

  Database& database_;
  Record conditions_;  // program, host, threads, seed, xla_version
  const Database* known_;
  std::string known_class_;
};

}  // namespace hone::tune
