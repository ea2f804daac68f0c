// Programs of one convolution, for tests of its forms.
#pragma once

#include <fmt/core.h>

#include <string>

namespace hone::tune {

struct Convolution {
  const char *what, *x, *w, *out, *attributes;
};

inline std::string program_of(const Convolution& c, const std::string& weights = "parameter(1)") {
  return fmt::format(R"(HloModule one
ENTRY main {{
  a = {0} parameter(0)
  w = {1} {4}
  x = {0} tanh(a)
  ROOT y = {2} convolution(x, w), {3}
}}
)",
                     c.x, c.w, c.out, c.attributes, weights);
}

}  // namespace hone::tune
