// A small program with edges to fuse, in a worker.
#pragma once

#include <memory>
#include <vector>

#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

namespace hone::tune {

inline constexpr char kChain[] = R"(HloModule chain
ENTRY main {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  e = f32[64,64] exponential(a)
  t = f32[64,64] transpose(e), dimensions={1,0}
  d = f32[64,64] dot(t, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[64,64] sine(d)
  m = f32[64,64] multiply(s, a)
  ROOT r = f32[64,64] add(m, s)
})";

inline std::unique_ptr<Session> chain_session() {
  auto session = std::make_unique<Session>(with_worker());
  session->load(kChain, "chain.hlo");
  return session;
}

inline std::vector<Dimension> edges_of(const Lowered& lowered) {
  std::vector<Dimension> edges;
  for (const Dimension& d : lowered.dimensions)
    if (d.kind == DecisionKind::Fusion) edges.push_back(d);
  return edges;
}

}  // namespace hone::tune
