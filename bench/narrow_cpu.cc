// A library to preload: programs then run as on a CPU without AVX-512, AVX-VNNI and AMX (NARROW_CPU=avx2), or without AVX2 (avx) or any
// AVX (sse4.2) as well. The CPUID instruction tells so, whoever asks it: XLA, its libraries, Hone's kernels. Caches, clock and memory
// stay those of the machine, and so does /proc/cpuinfo; what is compiled must not go to a cache that others use. `--cpu-isa` of
// benchmarks does all this; docs/decisions/0079-a-cpu-that-has-less.md.
//
//   NARROW_CPU=avx2 LD_AUDIT=build/libnarrow_cpu.so LD_PRELOAD=build/libnarrow_cpu.so hone optimize ...
//
// Linux lets a process take CPUID as a fault (arch_prctl(2), ARCH_SET_CPUID) where the CPU can do it (`cpuid_fault` in /proc/cpuinfo); the
// fault's handler answers from a table that was read before. Where it cannot, the process ends with exit code 2. The flag is a thread's,
// and goes on to its threads and forks, not through execve(), after which this library is loaded again.
//
// It is loaded twice. As an auditor (rtld-audit(7)) it begins before the program is relocated, which is when GCC's function versions
// look at the CPU. What is preloaded can be called in the C library's place, and keeps the handler when the program asks for one of its own.
#include <asm/prctl.h>
#include <cpuid.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

constexpr uint32_t bit(int n) { return uint32_t{1} << n; }

struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Leaves from 0, from 0x40000000 (hypervisors) and from 0x80000000, each with its subleaves.
constexpr uint32_t kFirst[] = {0, 0x40000000, 0x80000000};
constexpr uint32_t kLeaves = 0x30, kSubleaves = 32;
std::array<std::array<std::array<Registers, kSubleaves>, kLeaves>, 3> answers;
struct sigaction theirs;  // of SIGSEGV, as the program has asked for
bool active = false;

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  return r;
}

// Intel's manual, volume 2, CPUID: what belongs to AVX-512 (and AVX10), AMX and AVX-VNNI.
void without_avx512(uint32_t leaf, uint32_t subleaf, Registers& r) {
  if (leaf == 7 && subleaf == 0) {
    r.ebx &= ~(bit(16) | bit(17) | bit(21) | bit(26) | bit(27) | bit(28) | bit(30) | bit(31));
    r.ecx &= ~(bit(1) | bit(6) | bit(11) | bit(12) | bit(14));
    r.edx &= ~(bit(2) | bit(3) | bit(8) | bit(22) | bit(23) | bit(24) | bit(25));
  } else if (leaf == 7 && subleaf == 1) {
    r.eax &= ~(bit(4) | bit(5) | bit(21) | bit(23));
    r.edx &= ~(bit(4) | bit(5) | bit(8) | bit(10) | bit(19));
  } else if (leaf == 0xD && subleaf == 0) {
    r.eax &= ~(bit(5) | bit(6) | bit(7) | bit(17) | bit(18));  // registers whose state the system saves
  } else if (leaf == 0x1D || leaf == 0x1E || leaf == 0x24) {
    r = {};
  }
}

void without_avx2(uint32_t leaf, uint32_t subleaf, Registers& r) {
  if (leaf == 1) r.ecx &= ~bit(12);  // FMA
  if (leaf != 7 || subleaf != 0) return;
  r.ebx &= ~(bit(3) | bit(5) | bit(8));  // BMI1, AVX2, BMI2
  r.ecx &= ~(bit(9) | bit(10));          // VAES, VPCLMULQDQ
}

void without_avx(uint32_t leaf, uint32_t subleaf, Registers& r) {
  if (leaf == 1) r.ecx &= ~(bit(28) | bit(29));  // AVX, F16C
  if (leaf == 0xD && subleaf == 0) r.eax &= ~bit(2);
}

const Registers* answer(uint32_t leaf, uint32_t subleaf) {
  for (size_t i = 0; i < answers.size(); ++i)
    if (leaf >= kFirst[i] && leaf - kFirst[i] < kLeaves) return &answers[i][leaf - kFirst[i]][subleaf % kSubleaves];
  return nullptr;
}

void to_theirs(int number, siginfo_t* info, void* context) {
  if (theirs.sa_flags & SA_SIGINFO) return theirs.sa_sigaction(number, info, context);
  if (theirs.sa_handler == SIG_IGN) return;
  if (theirs.sa_handler != SIG_DFL) return theirs.sa_handler(number);
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  syscall(SYS_rt_sigaction, SIGSEGV, &plain, nullptr, 8);
  if (info->si_code <= 0)
    raise(number);  // sent by a process; else the instruction faults again. Either ends the process.
}

void on_fault(int number, siginfo_t* info, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const uint8_t*>(registers[REG_RIP]);
  // A general protection fault; of a bad address si_code is another, and the instruction may not be readable.
  if (info->si_code != SI_KERNEL || code[0] != 0x0F || code[1] != 0xA2) return to_theirs(number, info, context);
  constexpr uint32_t kAll = 0xFFFFFFFF;
  const Registers* r =
      answer(static_cast<uint32_t>(registers[REG_RAX] & kAll), static_cast<uint32_t>(registers[REG_RCX] & kAll));
  static constexpr Registers kNone;
  if (!r) r = &kNone;
  registers[REG_RAX] = r->eax, registers[REG_RBX] = r->ebx, registers[REG_RCX] = r->ecx, registers[REG_RDX] = r->edx;
  registers[REG_RIP] += 2;
}

[[noreturn]] void refuse(const char* why) {
  std::fprintf(stderr, "NARROW_CPU: %s\n", why);
  _exit(2);
}

using SigAction = int (*)(int, const struct sigaction*, struct sigaction*);
SigAction real_sigaction() {
  static const auto real = reinterpret_cast<SigAction>(dlsym(RTLD_NEXT, "sigaction"));
  return real;
}

// Linked to be the first to begin (-z initfirst), when getenv() finds nothing yet. What CPUID says the second time is less already.
__attribute__((constructor)) void narrow(int, char**, char** environment) {
  constexpr char kName[] = "NARROW_CPU=";
  const char* to = nullptr;
  for (; *environment; ++environment)
    if (std::strncmp(*environment, kName, sizeof kName - 1) == 0) to = *environment + sizeof kName - 1;
  if (!to) return;
  const bool avx2 = std::strcmp(to, "avx2") == 0, avx = avx2 || std::strcmp(to, "avx") == 0;
  if (!avx && std::strcmp(to, "sse4.2") != 0) refuse("none of avx2, avx, sse4.2");
  for (size_t i = 0; i < answers.size(); ++i)
    for (uint32_t leaf = 0; leaf < kLeaves; ++leaf)
      for (uint32_t subleaf = 0; subleaf < kSubleaves; ++subleaf) {
        Registers& r = answers[i][leaf][subleaf] = cpuid(kFirst[i] + leaf, subleaf);
        if (i > 0) continue;
        without_avx512(leaf, subleaf, r);
        if (!avx2) without_avx2(leaf, subleaf, r);
        if (!avx) without_avx(leaf, subleaf, r);
      }
  struct sigaction ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  if (real_sigaction()(SIGSEGV, &ours, &theirs) != 0) refuse("no handler");
  active = true;
  if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) != 0) refuse("this CPU or kernel cannot take CPUID as a fault");
}

}  // namespace

// Asked of auditors; without functions beside it nothing else is done by them.
extern "C" __attribute__((visibility("default"))) unsigned la_version(unsigned) { return LAV_CURRENT; }

// A program's own handlers of SIGSEGV are kept beside ours, and called for other faults.
extern "C" __attribute__((visibility("default"))) int sigaction(int number, const struct sigaction* asked,
                                                                struct sigaction* before) noexcept {
  if (number != SIGSEGV || !active) return real_sigaction()(number, asked, before);
  if (before) *before = theirs;
  if (asked) theirs = *asked;
  return 0;
}

extern "C" __attribute__((visibility("default"))) sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction asked{}, before{};
  asked.sa_handler = handler;
  asked.sa_flags = SA_RESTART;
  return sigaction(number, &asked, &before) == 0 ? before.sa_handler : SIG_ERR;
}
