// PJRT's CPU client with several host devices.
#pragma once
#include <memory>

#include "xla/pjrt/pjrt_client.h"

namespace hone::xla_side {

// `threads`: of one device. Asynchronous: a run returns before it is done. Throws RunError.
std::unique_ptr<xla::PjRtClient> host_client(int devices, int threads, bool asynchronous);

}  // namespace hone::xla_side
