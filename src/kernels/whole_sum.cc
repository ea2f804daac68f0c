#include "kernels/whole_sum.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/lanes.h"
#include "kernels/plan_text.h"

namespace hone {
namespace {

// XLA's loop of four chains of additions waits for them where values come from the third-level cache: 57 GB/s on a Zen 4
// core, which reads 73 with eight.
constexpr int kChains = 8;
constexpr int64_t kBlockBytes = 65536;

template <class T, int kBytes>
struct VectorOf {
  // GCC aligns wide vectors by the widest register of its default target.
  typedef T Type __attribute__((vector_size(kBytes), aligned(kBytes)));
};

template <class T>
struct SumAll {
  template <int kFloats>  // of a register
  static HONE_INLINE void run(const T* values, int64_t count, double& sum) {
    using Vector = typename VectorOf<T, 4 * kFloats>::Type;
    constexpr int64_t kLanes = sizeof(Vector) / sizeof(T), kGroup = kChains * kLanes;
    Vector total[kChains] = {};
    const int64_t whole = count / kGroup * kGroup;
    add_vectors(values, whole / kLanes, total);
    sum = 0;
    for (int c = 0; c < kChains; ++c)
      for (int64_t lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(total[c][lane]);
    for (int64_t i = whole; i < count; ++i) sum += static_cast<double>(values[i]);
  }

  // Adds whole groups of kChains vectors, which begin at any address, to `total`.
  template <class Vector>
  static HONE_INLINE void add_vectors(const T* values, int64_t vectors, Vector (&total)[kChains]) {
    constexpr int64_t kLanes = sizeof(Vector) / sizeof(T), kBlockVectors = kBlockBytes / sizeof(Vector);
    for (int64_t block = 0; block < vectors; block += kBlockVectors) {
      Vector chains[kChains] = {};
      const T* from = values + block * kLanes;
      const int64_t end = std::min(kBlockVectors, vectors - block);
      for (int64_t v = 0; v < end; v += kChains)
#pragma GCC unroll 8
        for (int c = 0; c < kChains; ++c) {
          Vector part;  // not through a pointer to vectors, which begin at any address
          std::memcpy(&part, from + (v + c) * kLanes, sizeof part);
          chains[c] += part;
        }
      for (int c = 0; c < kChains; ++c) total[c] += chains[c];
    }
  }
};

template <class T>
void sum_all(const void* from, int64_t count, void* to) {
  double sum = 0;
  run_wide<SumAll<T>>(static_cast<const T*>(from), count, sum);
  *static_cast<T*>(to) = static_cast<T>(sum);
}

}  // namespace

std::string WholeSumPlan::text() const { return plan_text({int64_t{f64}, count}); }

WholeSumPlan WholeSumPlan::from_text(std::string_view text) {
  const std::vector<int64_t> numbers = plan_numbers(text);
  if (numbers.size() != 2 || numbers[0] > 1) throw Error("not the configuration of a whole sum", std::string(text));
  return {numbers[0] != 0, numbers[1]};
}

void whole_sum(const WholeSumPlan& plan, const void* values, void* sum) {
  plan.f64 ? sum_all<double>(values, plan.count, sum) : sum_all<float>(values, plan.count, sum);
}

}  // namespace hone
