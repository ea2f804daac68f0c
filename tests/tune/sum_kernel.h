// A kernel with its module, for what reads the structure of kernels.
#pragma once

#include <string>
#include <vector>

#include "tests/graph/module_proto.h"
#include "tests/tune/fake_measurer.h"

namespace hone::tune {

// max(a + b, a), fused, of any size and type, with the given instruction names.
inline Kernel sum_kernel(const std::string& fingerprint, int64_t rows, int64_t columns,
                         const std::string& opcode = "add", int type = test::kF32) {
  int64_t next = 1;
  const std::string shape = test::array(type, {rows, columns});
  test::ComputationProto fused("fused." + fingerprint, 1, next), entry("main", 2, next);
  const int64_t a = fused.parameter(0, shape), b = fused.parameter(1, shape);
  const int64_t sum = fused.add("sum." + fingerprint, opcode, shape, {a, b});
  fused.add("top", "maximum", shape, {sum, a});
  const int64_t x = entry.parameter(0, shape), y = entry.parameter(1, shape);
  entry.add("fusion", "fusion", shape, {x, y}, [](test::pbf_writer& out) {
    out.add_string(11, "kLoop");
    test::add_packed(out, 38, {1});
  });
  std::vector<std::string> options = {"default", "loop", "loop;unroll=0"};
  for (int64_t r = 1; r <= rows; r *= 2)
    for (int64_t c = 1; c <= columns; c *= 2) options.push_back("tile=" + std::to_string(r) + "," + std::to_string(c));
  Kernel kernel = a_kernel(fingerprint, options);
  kernel.module = test::module("m", {&fused, &entry});
  return kernel;
}

}  // namespace hone::tune
