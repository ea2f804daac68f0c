// Kernels listed by the real worker; skipped where it is not built.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/tune/real_worker.h"
#include "wire/client.h"

namespace hone {
namespace {

constexpr char kProgram[] = R"(HloModule small
ENTRY main {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  e = f32[64,64] exponential(a)
  d = f32[64,64] dot(e, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[64,64] sine(d)
  ROOT r = f32[64,64] add(s, a)
}
)";

}  // namespace

TEST_CASE("a worker's description of kernels depends on the request alone", "[tune]") {
  if (tune::no_worker()) return;
  wire::Worker worker(tune::with_worker().worker);
  wire::LoadRequestT load;
  load.name = "small.hlo";
  load.bytes.assign(std::begin(kProgram), std::end(kProgram) - 1);
  const std::string program = worker.call<wire::LoadReplyT>(std::move(load)).program;
  const auto ask = [&](std::vector<uint64_t> known) {
    wire::ListKernelsRequestT request;
    request.program = program;
    request.known = std::move(known);
    return worker.call<wire::ListKernelsReplyT>(std::move(request));
  };
  const auto first = ask({});
  REQUIRE_FALSE(first.kernels.empty());
  std::vector<uint64_t> known;
  for (const auto& kernel : first.kernels) known.push_back(hash64(kernel->fingerprint));
  std::sort(known.begin(), known.end());
  for (int i = 0; i < 3; ++i) {  // the first configuration is audited, later ones are recalled
    const auto brief = ask(known), full = ask({});
    CHECK(brief.fingerprint == first.fingerprint);
    CHECK(full.fingerprint == first.fingerprint);
    CHECK(full.instructions == first.instructions);
    REQUIRE(brief.kernels.size() == first.kernels.size());
    REQUIRE(full.kernels.size() == first.kernels.size());
    for (size_t k = 0; k < first.kernels.size(); ++k) {
      CHECK_FALSE(brief.kernels[k]->dimension);
      CHECK(brief.kernels[k]->hlo.empty());
      CHECK(brief.kernels[k]->count == first.kernels[k]->count);
      REQUIRE(full.kernels[k]->dimension);
      CHECK(full.kernels[k]->dimension->options == first.kernels[k]->dimension->options);
      CHECK_FALSE(full.kernels[k]->hlo.empty());
      CHECK_FALSE(full.kernels[k]->module_proto.empty());
    }
  }
}

}  // namespace hone
