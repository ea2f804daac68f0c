// From HLO text to arrays through the real worker; skipped if it is not built.

#include <catch2/catch.hpp>

#include "features/encode.h"
#include "features/opcodes.h"
#include "graph/hlo_reader.h"
#include "tests/tune/real_worker.h"
#include "wire/client.h"

namespace hone::features {
namespace {

// A dot and, in its own kernel, tanh(y) + z, with known costs.
constexpr char kProgram[] =
    R"(HloModule known, entry_computation_layout={(f32[64,128]{1,0}, f32[128,32]{1,0}, f32[64,32]{1,0})->(f32[64,32]{1,0}, f32[64,32]{1,0})}
ENTRY main {
  a = f32[64,128]{1,0} parameter(0)
  b = f32[128,32]{1,0} parameter(1)
  c = f32[64,32]{1,0} parameter(2)
  dot = f32[64,32]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  tanh = f32[64,32]{1,0} tanh(c)
  sum = f32[64,32]{1,0} add(tanh, c)
  ROOT out = (f32[64,32]{1,0}, f32[64,32]{1,0}) tuple(dot, sum)
}
)";

std::vector<std::unique_ptr<wire::KernelT>> kernels(wire::Worker& worker, bool want_protos) {
  wire::LoadRequestT load;
  load.name = "known.hlo";
  load.bytes.assign(kProgram, kProgram + sizeof(kProgram) - 1);
  wire::LowerRequestT lower;
  lower.program = worker.call<wire::LoadReplyT>(std::move(load)).program;
  lower.want_protos = want_protos;
  return std::move(worker.call<wire::LowerReplyT>(std::move(lower)).kernels);
}

std::string_view proto_of(const wire::KernelT& kernel) {
  return {reinterpret_cast<const char*>(kernel.module_proto.data()), kernel.module_proto.size()};
}

TEST_CASE("kernels of a worker: modules and costs arrive and encode") {
  if (tune::no_worker()) return;
  wire::Worker worker(tune::with_worker().worker);
  int dots = 0, fusions = 0;
  for (const auto& kernel : kernels(worker, true)) {
    const HloGraph graph = read_hlo_graph(proto_of(*kernel));
    const EncodedKernel encoded =
        encode_kernel(graph, {kernel->flops, kernel->bytes_read, kernel->bytes_written, kernel->transcendentals});
    INFO(kernel->hlo);
    CHECK(kernel_output(graph).dims == std::vector<int64_t>{64, 32});
    CHECK(kernel->bytes_written == 64 * 32 * 4);
    if (kernel->kind == "dot") {
      ++dots;
      CHECK(encoded.opcodes.back() == opcode_number("dot"));
      CHECK(encoded.nodes() == 3);
      CHECK(encoded.static_features ==
            std::vector<float>{2 * 64 * 128 * 32, (64 * 128 + 128 * 32) * 4, 64 * 32 * 4, 0});
    } else {
      ++fusions;
      CHECK(kernel->kind == "fusion");
      CHECK(encoded.nodes() == 3);
      CHECK(encoded.edge_from.size() == 3);
      CHECK(encoded.static_features == std::vector<float>{64 * 32, 64 * 32 * 4, 64 * 32 * 4, 64 * 32});
    }
    for (const std::string& option : kernel->dimension->options)
      CHECK(
          encode_option(kernel_output(graph), option, option == "default", kernel->default_tile, kernel->kind).size() ==
          static_cast<size_t>(tile_feature_count()));
  }
  CHECK(dots == 1);
  CHECK(fusions == 1);
  for (const auto& kernel : kernels(worker, false)) CHECK(kernel->module_proto.empty());
}

}  // namespace
}  // namespace hone::features
