// A program as machine code, without XLA's header of it: that takes twice as long to parse as all of HLO.
#pragma once
#include <memory>

namespace xla::cpu {
class CpuExecutable;
}

namespace hone::xla_side {

struct DeleteCompiled {
  void operator()(xla::cpu::CpuExecutable* compiled) const;  // in lower.cc, which knows the class
};
using Compiled = std::unique_ptr<xla::cpu::CpuExecutable, DeleteCompiled>;

}  // namespace hone::xla_side
