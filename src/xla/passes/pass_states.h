// The states of a program under passes: modules cached by fingerprint, so that a step costs one pass.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/passes.h"
#include "wire/hone_generated.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Fingerprint of a module before layouts: equal for modules that differ in names and metadata only. Constants count.
std::string state_fingerprint(const xla::HloModule& module);

// The table of passes, as a message.
wire::PassesReplyT list_passes();

// The states of one program. A state is the program after a list of passes.
class PassStates {
 public:
  explicit PassStates(const xla::HloModule& program) : program_(program) {}

  // Runs the request's passes on its state. A pass that fails leaves the state unchanged and ends the list. Throws
  // Error for unknown passes, RunError when the history cannot be replayed.
  wire::ApplyReplyT apply(const wire::ApplyRequestT& request);

 private:
  struct Kept {
    std::string fingerprint;
    std::unique_ptr<xla::HloModule> module;
    bool branches = false;  // requested again after it was modified in place: from then on only copies are modified
  };
  using Module = std::unique_ptr<xla::HloModule>;

  Module replay(const std::vector<std::string>& passes) const;
  Module take(const wire::ApplyRequestT& request, bool& branches);
  void keep(const std::string& fingerprint, Module module, bool branches);

  const xla::HloModule& program_;
  std::string initial_;   // fingerprint of the program; empty until known
  std::list<Kept> kept_;  // most recent first
  std::unordered_map<std::string, std::list<Kept>::iterator> found_;
  int64_t instructions_ = 0;  // of all kept
  // The copy of a branching state that the last pass did not change. Most passes change nothing, and copying a module
  // costs more than running them.
  std::string spare_of_;
  Module spare_;
  std::unordered_map<std::string, bool> given_away_;
};

}  // namespace hone::xla_side
