// A program on several host devices: PJRT's CPU client with one thread for each of them.
#pragma once
#include <memory>
#include <vector>

#include "measure/partition.h"
#include "xla/literal.h"

namespace hone::xla_side {

class ShardedRun {
 public:
  // Compiles. The target's threads are those of one device. Throws StageError of code generation, and as with_shardings().
  ShardedRun(const xla::HloModule& program, const Partitioning& partitioning, const CompileTarget& target);
  ~ShardedRun();
  ShardedRun(ShardedRun&&) noexcept;

  // One literal per parameter; each device receives its part.
  void set_inputs(const std::vector<xla::Literal>& inputs);
  // Wall time in ns until all devices are done. Throws RunError.
  double run();
  // Of the last run, put together: one literal per leaf of the result, descending layouts.
  std::vector<xla::Literal> outputs() const;
  double compile_ms() const;

 private:
  struct Client;
  std::unique_ptr<Client> client_;
};

}  // namespace hone::xla_side
