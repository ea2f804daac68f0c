#include "service/versions.h"

#include "kernels/dnnl_version.h"

extern "C" const char* TF_Version(void);  // tensorflow/c/c_api.h, which needs more headers than it is worth

namespace hone::xla_side {

std::string xla_version() { return std::string("tensorflow-cpu ") + TF_Version(); }

std::map<std::string, std::string> library_versions() {
  std::map<std::string, std::string> versions{{"ynnpack", xla_version()}};
  if (const std::string onednn = dnnl_version(); !onednn.empty()) versions["onednn"] = onednn;
  return versions;
}

}  // namespace hone::xla_side
