#include "measure/host_client.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "decisions/program_options.h"
#include "status.h"
#include "xla/pjrt/plugin/xla_cpu/xla_cpu_pjrt_client.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// What XLA reads when it makes the thread pools of a client.
class ThreadsOfClient {
 public:
  explicit ThreadsOfClient(int threads) {
    if (const char* before = std::getenv(kName)) before_ = before;
    setenv(kName, std::to_string(threads).c_str(), 1);
  }
  ~ThreadsOfClient() {
    if (before_)
      setenv(kName, before_->c_str(), 1);
    else
      unsetenv(kName);
  }

 private:
  static constexpr char kName[] = "PJRT_NPROC";
  std::optional<std::string> before_;
};

}  // namespace

std::unique_ptr<xla::PjRtClient> host_client(int devices, int threads, bool asynchronous) {
  const ThreadsOfClient pools(threads);
  xla::CpuClientOptions options;
  options.cpu_device_count = devices;
  options.asynchronous = asynchronous;
  options.customize_hlo_module_config = [threads](xla::HloModuleConfig& config) {
    config.set_intra_op_parallelism_threads(threads);
  };
  return take(xla::GetXlaPjrtCpuClient(std::move(options)), "host devices");
}

xla::CompileOptions host_options(const CompileTarget& target, const std::vector<int>& devices) {
  const int count = static_cast<int>(devices.size());
  xla::CompileOptions options;
  auto& build = options.executable_build_options;
  build.set_num_replicas(1);
  build.set_num_partitions(count);
  *build.mutable_debug_options() = debug_options_of(target);
  xla::DeviceAssignment assignment(1, count);
  for (int i = 0; i < count; ++i) assignment(0, i) = devices[i];
  build.set_device_assignment(assignment);
  return options;
}

}  // namespace hone::xla_side
