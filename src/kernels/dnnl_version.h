// Which oneDNN is here, for those who need none of its types.
#pragma once

#include <string>

namespace hone {

std::string dnnl_version();  // "3.9.1"; empty where the library is absent or does not work

}  // namespace hone
