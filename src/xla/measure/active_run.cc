#include "measure/active_run.h"

#include "base/machine.h"
#include "xla/backends/cpu/runtime/buffer_allocations.h"
#include "xla/backends/cpu/runtime/thread_pool_task_runner.h"
#include "xla/backends/cpu/runtime/thunk_executor.h"
#include "xla/backends/cpu/runtime/xfeed_manager.h"
#include "xla/executable_run_options.h"
#include "xla/tsl/concurrency/async_value_ref.h"

namespace hone::xla_side {
namespace {

using xla::cpu::Thunk;

xla::ExecutableRunOptions run_options(const Eigen::ThreadPoolDevice& device) {
  xla::ExecutableRunOptions options;
  options.set_device_ordinal(0);
  options.set_intra_op_thread_pool(&device);
  return options;
}

}  // namespace

ActiveThreads::ActiveThreads(int threads) : pool_(threads, allowed_cpus()), device_(&pool_, threads) {
  const xla::ExecutableRunOptions options = run_options(device_);
  ynnpack_ = new absl::StatusOr<Thunk::YnnParams>(Thunk::YnnParams::Create(&options));
}

absl::Status ActiveThreads::run(xla::cpu::CpuExecutable& program,
                                absl::Span<const xla::MaybeOwningDeviceAddress> buffers) {
  const xla::ExecutableRunOptions options = run_options(device_);
  const xla::cpu::BufferAllocations allocations(buffers);
  TF_ASSIGN_OR_RETURN(auto collectives, Thunk::CollectiveExecuteParams::Create(&options));
  TF_ASSIGN_OR_RETURN(auto custom_calls, Thunk::CustomCallExecuteParams::Create(&options));
  if (program.has_ynn_fusions() && !ynnpack_->ok()) return ynnpack_->status();
  xla::cpu::ThreadPoolTaskRunner runner(&pool_);
  Thunk::ExecuteParams params;
  params.function_library = program.function_library();
  params.buffer_allocations = &allocations;
  params.xfeed = xla::cpu::GetXfeedManager(options.device_ordinal());
  params.intra_op_threadpool = &device_;
  params.task_runner = &runner;
  params.collective_params = &collectives;
  params.custom_call_params = &custom_calls;
  params.ynn_params = program.has_ynn_fusions() ? &**ynnpack_ : nullptr;
  params.run_id = options.run_id().ToInt();
  params.device_ordinal = options.device_ordinal();
  ActivePool::Run run(pool_);
  const tsl::AsyncValueRef<Thunk::ExecuteEvent> done = program.thunks().Execute(params);
  run.help_until([&] { return done.IsAvailable(); }, [&] { done.AndThen([this] { pool_.wake(); }); });
  return done.IsError() ? done.GetError() : absl::OkStatus();
}

}  // namespace hone::xla_side
