// A placed program on several host devices: its segments through PJRT's CPU client, copies where a value crosses.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "measure/segments.h"
#include "xla/literal.h"

namespace hone::xla_side {

// Each device has a thread that runs its segments one after the other; a segment that reads a value of another device waits for it
// and copies it.
class PlacedRun {
 public:
  // Compiles. The target's threads are those of one device. Throws StageError of code generation, and as cut().
  PlacedRun(const xla::HloModule& program, const Placement& placement, const CompileTarget& target);
  ~PlacedRun();

  // One literal per parameter; every device that reads one has it.
  void set_inputs(const std::vector<xla::Literal>& inputs);
  // Wall time in ns until all devices are done. Throws RunError.
  double run();
  // Of the last run: one literal per leaf of the result, descending layouts.
  std::vector<xla::Literal> outputs() const;
  double compile_ms() const;
  std::string summary() const;  // "5 segments on 2 devices, 3 copies of 4096 bytes"

 private:
  struct Client;
  std::unique_ptr<Client> client_;
};

}  // namespace hone::xla_side
