// A compiled program run with an ActivePool in place of XLA's.
#pragma once

#define EIGEN_USE_THREADS
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "measure/active_pool.h"
#include "unsupported/Eigen/CXX11/Tensor"
#include "xla/backends/cpu/runtime/thunk.h"
#include "xla/service/cpu/cpu_executable.h"

namespace hone::xla_side {

// Serves any number of programs and callers at once.
class ActiveThreads {
 public:
  explicit ActiveThreads(int threads);
  // Does what CpuExecutable::ExecuteThunks does; `buffers`: one for each allocation of the program.
  absl::Status run(xla::cpu::CpuExecutable& program, absl::Span<const xla::MaybeOwningDeviceAddress> buffers);

 private:
  ActivePool pool_;
  Eigen::ThreadPoolDevice device_;
  absl::StatusOr<xla::cpu::Thunk::YnnParams>* ynnpack_;  // never freed: the wheel does not export what frees it
};

}  // namespace hone::xla_side
