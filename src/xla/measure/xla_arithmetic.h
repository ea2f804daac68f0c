// The arithmetic in which XLA's client runs programs: floats that are too small to be normal are zero, as operands and as
// results, and results are rounded to the nearest number (xla/pjrt/cpu/cpu_client.cc, ScopedFlushDenormal and
// ScopedSetRound). Without it programs with such numbers take many times as long as they do under JAX.
#pragma once

#include <immintrin.h>

namespace hone::xla_side {

inline unsigned xla_arithmetic(unsigned csr) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  return (csr & ~_MM_ROUND_MASK) | kFlushToZero | kDenormalsAreZero;
}

// For a thread that does nothing else.
inline void set_xla_arithmetic() { _mm_setcsr(xla_arithmetic(_mm_getcsr())); }

// Until the end of a scope, for a thread that is the user's.
class ScopedXlaArithmetic {
 public:
  ScopedXlaArithmetic() : before_(_mm_getcsr()) { _mm_setcsr(xla_arithmetic(before_)); }
  ~ScopedXlaArithmetic() { _mm_setcsr(before_); }
  ScopedXlaArithmetic(const ScopedXlaArithmetic&) = delete;
  ScopedXlaArithmetic& operator=(const ScopedXlaArithmetic&) = delete;

 private:
  unsigned before_;
};

}  // namespace hone::xla_side
