// Tests of functions with one version per instruction set run each version that this CPU has.
#pragma once

#include "base/lanes.h"

namespace hone {

// Until its end run_wide() uses so many lanes, at most those of this CPU.
class WithLanes {
 public:
  explicit WithLanes(int lanes) : before_(lanes_in_use()) {
    if (lanes < before_) lanes_in_use() = lanes;
  }
  WithLanes(const WithLanes&) = delete;
  WithLanes& operator=(const WithLanes&) = delete;
  ~WithLanes() { lanes_in_use() = before_; }

 private:
  int before_;
};

}  // namespace hone
