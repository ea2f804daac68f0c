#include "measure/host_client.h"

#include <cstdlib>
#include <optional>
#include <string>

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

}  // namespace hone::xla_side
