// JAX's custom calls of LAPACK, which jaxlib computes in JAX's own XLA, and what no program here can call.
#pragma once

#include <map>
#include <string>

#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Makes all targets of lapack_routines() known to XLA, once per process; before a program with such calls is compiled.
void register_lapack_calls();

// The targets of custom calls that nothing computes, with the number of their calls: those that are left when XLA's passes have
// run on a copy of the program. Calls of LAPACK belong to them where the machine has no library of it.
std::map<std::string, int64_t> calls_without_handler(const xla::HloModule& module);

// The library that computes the LAPACK calls of a program, "OpenBLAS 0.3.30, PATH"; empty where it has none.
std::string lapack_of(const xla::HloModule& module);

}  // namespace hone::xla_side
