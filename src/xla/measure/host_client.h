// PJRT's CPU client with several host devices.
#pragma once
#include <memory>
#include <vector>

#include "decisions/compile_target.h"
#include "xla/pjrt/pjrt_client.h"
#include "xla/pjrt/pjrt_executable.h"

namespace hone::xla_side {

// `threads`: of one device. Asynchronous: a run returns before it is done. Throws RunError.
std::unique_ptr<xla::PjRtClient> host_client(int devices, int threads, bool asynchronous);

// To compile for these of a client's devices, as partitions of one replica.
xla::CompileOptions host_options(const CompileTarget& target, const std::vector<int>& devices);

}  // namespace hone::xla_side
