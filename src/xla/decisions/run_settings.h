// How compiled code is run.
#pragma once

namespace hone::xla_side {

struct RunSettings {
  int threads = 1;
  bool huge_pages = false;   // for its buffers
  bool active_wait = false;  // of several threads (measure/active_pool.h)
};

}  // namespace hone::xla_side
