// The machine code of stored kernels, as XLA generated it: ELF objects by kernel, option, instruction set and version of XLA, in a
// folder (base/object_store.h). What is there is not compiled again, so a collection goes on where it stopped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/object_store.h"

namespace hone {

struct CodeKey {
  std::string kernel;       // fingerprint
  std::string option;       // value of its decision; empty = default XLA's
  std::string isa;          // in effect (base/isa.h)
  std::string xla_version;  // as records name it
};

struct KernelCode {
  bool compiled = true;                   // false: XLA failed, or took too long
  std::vector<std::string> objects = {};  // ELF files; none where libraries run the kernel
};

class CodeStore {
 public:
  // Throws the errors of ObjectStore.
  explicit CodeStore(const std::string& folder);
  // nullopt for what was not collected.
  std::optional<KernelCode> find(const CodeKey& key);
  bool add(const CodeKey& key, const KernelCode& code);  // false when it was not written

 private:
  ObjectStore store_;
};

}  // namespace hone
