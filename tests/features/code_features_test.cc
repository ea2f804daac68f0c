// Features of machine code, against counts derived by hand from the listings beside the bytes; and of what the real worker compiles.
#include "features/code_features.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "features/code_loops.h"
#include "tests/tune/real_worker.h"
#include "wire/client.h"

namespace hone::features {
namespace {

using Catch::Contains;
using Bytes = std::vector<uint8_t>;

//  0: xor eax,eax               11: add rax,32
//  2: vmovups ymm0,[rdi+rax]    15: cmp rax,16384
//  7: vaddps ymm0,ymm0,[rsi+rax]  1b: jne 2
//  c: vmovups [rdx+rax],ymm0    1d: vzeroupper; ret
const Bytes kAdd = {0x31, 0xc0, 0xc5, 0xfc, 0x10, 0x04, 0x07, 0xc5, 0xfc, 0x58, 0x04,
                    0x06, 0xc5, 0xfc, 0x11, 0x04, 0x02, 0x48, 0x83, 0xc0, 0x20, 0x48,
                    0x3d, 0x00, 0x40, 0x00, 0x00, 0x75, 0xe5, 0xc5, 0xf8, 0x77, 0xc3};

//  0: xor ebx,ebx                  11: vfmadd213ss xmm0,xmm2,xmm3
//  2: vmovss xmm0,[r14+4*rbx]      16: vmovss [r15+4*rbx],xmm0
//  8: vmulss xmm0,xmm0,xmm1        1c: inc rbx; 1f: cmp rbx,100
//  c: call expf                    23: jne 2; ret
const Bytes kExp = {0x31, 0xdb, 0xc4, 0xc1, 0x7a, 0x10, 0x04, 0x9e, 0xc5, 0xfa, 0x59, 0xc1, 0xe8,
                    0x00, 0x00, 0x00, 0x00, 0xc4, 0xe2, 0x69, 0xa9, 0xc3, 0xc4, 0xc1, 0x7a, 0x11,
                    0x04, 0x9f, 0x48, 0xff, 0xc3, 0x48, 0x83, 0xfb, 0x64, 0x75, 0xdd, 0xc3};

//  0: mov ecx,5                            18: vmovups [r8],ymm0
//  5: mov edx,4                            1d: add r8,32; 21: dec edx; 23: jne a
//  a: vmovdqu ymm1,[rsi]                   25: add rsi,32
//  e: vpcmpeqd ymm2,ymm2,ymm2              29: dec ecx; 2b: jne 5; ret
// 12: vgatherdps ymm0,[rdi+4*ymm1],ymm2
const Bytes kGather = {0xb9, 0x05, 0x00, 0x00, 0x00, 0xba, 0x04, 0x00, 0x00, 0x00, 0xc5, 0xfe, 0x6f, 0x0e, 0xc5, 0xed,
                       0x76, 0xd2, 0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x8f, 0xc4, 0xc1, 0x7c, 0x11, 0x00, 0x49, 0x83, 0xc0,
                       0x20, 0xff, 0xca, 0x75, 0xe5, 0x48, 0x83, 0xc6, 0x20, 0xff, 0xc9, 0x75, 0xd8, 0xc3};

// As LLVM turns a loop of two runs whose flag lies on the stack, with a condition that holds in 3 of the 12 runs of the loop inside.
//  0: push rbp; 1: mov rbp,rsp       1e: xor ecx,ecx
//  4: mov byte [rbp-12],1            20: cmp rcx,3; 24: jae 2a
//  8: xor esi,esi; a: jmp 1e         26: vdivss xmm0,xmm0,xmm1
//  c: mov esi,352                    2a: vaddss xmm2,xmm2,xmm0
// 11: test byte [rbp-12],1           2e: inc rcx; 31: cmp rcx,12; 35: jb 20
// 15: mov dword [rbp-12],0           37: jmp c
// 1c: je 39                          39: pop rbp; ret
const Bytes kTurned = {0x55, 0x48, 0x89, 0xe5, 0xc6, 0x45, 0xf4, 0x01, 0x31, 0xf6, 0xeb, 0x12, 0xbe, 0x60, 0x01,
                       0x00, 0x00, 0xf6, 0x45, 0xf4, 0x01, 0xc7, 0x45, 0xf4, 0x00, 0x00, 0x00, 0x00, 0x74, 0x1b,
                       0x31, 0xc9, 0x48, 0x83, 0xf9, 0x03, 0x73, 0x04, 0xc5, 0xfa, 0x5e, 0xc1, 0xc5, 0xea, 0x58,
                       0xd0, 0x48, 0xff, 0xc1, 0x48, 0x83, 0xf9, 0x0c, 0x72, 0xe9, 0xeb, 0xd3, 0x5d, 0xc3};

CodeSummary summary_of(const Bytes& code, std::map<uint64_t, std::string> names = {}) {
  const ObjectFunction function{"kernel", true, code, std::move(names)};
  CodeSummary summary;
  add_functions({&function, 1}, summary);
  return summary;
}

double count(const CodeSummary& summary, CodeKind kind) { return summary.kinds[static_cast<int>(kind)]; }

TEST_CASE("code features: a vectorised sum") {
  const CodeSummary s = summary_of(kAdd);
  CHECK(s.code_bytes == 33);
  CHECK(s.instructions == 9);
  CHECK(s.loops == 1);
  CHECK(s.unknown_loops == 0);
  CHECK(s.runs == 1 + 512 * 6 + 2);
  CHECK(count(s, CodeKind::k_float_add) == 512);
  CHECK(s.arithmetic == std::array<double, 4>{0, 0, 512, 0});
  CHECK(s.loads == 2 * 512);
  CHECK(s.stores == 512);
  CHECK(s.near_accesses == 3 * 512);
  CHECK(s.far_accesses + s.fixed_accesses + s.unknown_accesses == 0);
  CHECK(s.line_bytes == 3 * 16384);
  CHECK(s.busiest.runs == 512);
  CHECK(s.busiest.vector_bits == 256);
  // Six instructions at five a cycle; a store and two loads, one cycle each; the counter's sum, one.
  CHECK(s.busiest.body_cycles == Approx(1.2));
}

TEST_CASE("code features: a function called in a loop") {
  const CodeSummary s = summary_of(kExp, {{0xd, "expf"}});
  CHECK(s.math_calls == 100);
  CHECK(s.memory_calls + s.other_calls == 0);
  CHECK(count(s, CodeKind::k_call) == 100);
  CHECK(count(s, CodeKind::k_fused_multiply_add) == 100);
  CHECK(count(s, CodeKind::k_float_multiply) == 100);
  CHECK(s.arithmetic == std::array<double, 4>{200, 0, 0, 0});
  CHECK(s.line_bytes == 2 * 400);
  CHECK(s.loop_depth == 1);
}

TEST_CASE("code features: a gather in two loops") {
  const CodeSummary s = summary_of(kGather);
  CHECK(count(s, CodeKind::k_gather) == 20);
  CHECK(s.unknown_accesses == 20);
  CHECK(s.fixed_accesses == 20);  // of rsi, which only the outer loop moves
  CHECK(s.near_accesses == 20);
  CHECK(s.loads == 40);
  CHECK(s.stores == 20);
  CHECK(s.loops == 2);
  CHECK(s.loop_depth == 2);
  CHECK(s.loop_entries == 1 + 5);
  CHECK(s.busiest.runs == 4);
  CHECK(s.busiest.depth == 2);
}

TEST_CASE("code features: a turned loop of two runs, and a condition inside") {
  const CodeSummary s = summary_of(kTurned);
  CHECK(s.loops == 2);
  CHECK(s.unknown_loops == 0);
  CHECK(count(s, CodeKind::k_float_add) == 2 * 12);
  CHECK(count(s, CodeKind::k_float_divide) == Approx(2 * 3));
  CHECK(s.spills == Approx(1 + 1 + 2));  // push, the flag, and that it is cleared
  // What a run hands to the next is the sum, four cycles, though each division takes longer.
  CHECK(s.busiest.body_cycles == Approx(4));
}

TEST_CASE("code features: what cannot be read ends a function, and is no object") {
  Bytes damaged = kAdd;
  damaged.insert(damaged.end(), {0x06, 0x90});  // no instruction in 64 bits
  CHECK(code_flow(damaged).undecoded_bytes == 2);
  CHECK(code_flow({}).instructions.empty());
  CHECK_THROWS_AS(summary_of_code({"no object"}), Error);
  CHECK(summary_of_code({}).cycles == 0);
  CHECK(code_features(summary_of_code({})).size() == code_feature_names().size());
}

std::vector<std::string> objects_of(wire::Worker& worker, const std::string& hlo, const std::string& cpu = "") {
  wire::CompileRequestT request;
  request.kernel_hlo = hlo;
  request.cpu = cpu;
  request.target = std::make_unique<wire::TargetT>();
  std::vector<std::string> objects;
  for (const auto& object : worker.call<wire::CompileReplyT>(std::move(request)).objects)
    objects.emplace_back(object->bytes.begin(), object->bytes.end());
  return objects;
}

constexpr char kHlo[] = R"(HloModule kernel
fused {
  a = f32[96,256] parameter(0)
  b = f32[96,256] parameter(1)
  ROOT s = f32[96,256] add(a, b)
}
ENTRY main {
  a = f32[96,256] parameter(0)
  b = f32[96,256] parameter(1)
  ROOT f = f32[96,256] fusion(a, b), kind=kLoop, calls=fused
}
)";

TEST_CASE("code features: what a worker compiles, also from its cache") {
  if (tune::no_worker()) return;
  wire::Worker worker(tune::with_worker().worker);
  const std::vector<std::string> first = objects_of(worker, kHlo);
  const CodeSummary s = summary_of_code(first);
  CHECK(s.objects == 1);
  CHECK(s.unknown_loops == 0);
  // However wide vectors are, every element is added once. What follows a condition that does not change counts with 0.95.
  const double added = s.arithmetic[0] + 4 * s.arithmetic[1] + 8 * s.arithmetic[2] + 16 * s.arithmetic[3];
  CHECK(added == Approx(96 * 256).epsilon(0.06));
  CHECK(objects_of(worker, kHlo) == first);
}

TEST_CASE("code features: what a worker compiles for another CPU") {
  if (tune::no_worker()) return;
  wire::Worker worker(tune::with_worker().worker);
  const std::vector<std::string> own = objects_of(worker, kHlo);
  const CodeSummary s = summary_of_code(objects_of(worker, kHlo, "nehalem"));  // whose widest vectors have 128 bits
  CHECK(4 * s.arithmetic[1] == Approx(96 * 256).epsilon(0.06));
  CHECK(s.arithmetic[2] + s.arithmetic[3] == 0);
  CHECK(objects_of(worker, kHlo) == own);  // which the cache does not confuse with it
  CHECK_THROWS_WITH(objects_of(worker, kHlo, "z80"), Contains("LLVM knows no such CPU"));
}

}  // namespace
}  // namespace hone::features
