// Reads programs of every supported format into an HloModule.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

struct LoadedModule {
  std::unique_ptr<xla::HloModule> module;
  std::string format;                // "hlo-text", "hlo-module-proto", "mlir-text", "jax-export", ...
  std::vector<xla::Literal> inputs;  // of a snapshot; else empty
  // Constants whose values the file leaves out, as printers do with large ones; others take their place. The last parameters stand for
  // so many of them.
  int64_t left_out = 0, left_out_parameters = 0;
};

// Recognises the format by content. Throws Error when the bytes are not a program. XLA may abort on some inputs: call
// it in a worker. Layouts other than the default on the entry's parameters and results are normalised to descending.
LoadedModule load_module(const std::string& bytes, const std::string& name);

// A module over a proto, with XLA's default debug options, one replica and one partition.
std::unique_ptr<xla::HloModule> module_from_proto(const xla::HloModuleProto& proto);

}  // namespace hone::xla_side
