#include "base/machine_speed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace hone {

namespace {

constexpr int64_t kLargestArray = int64_t{256} << 20, kSmallestOfMemory = int64_t{64} << 20;
constexpr double kRunS = 0.004;  // of one run of a loop
constexpr int kRuns = 8;
constexpr int kSums = 8;  // independent ones, so that neither loads nor additions wait for each other
constexpr int kProducts = 12;

// Vectors of one source for each width; the compiler makes instructions of the function's target of them.
template <int bytes>
struct Vector {
  typedef float Type __attribute__((vector_size(bytes), aligned(bytes)));
};

template <int bytes>
[[gnu::always_inline]] inline float sum_of(const float* data, size_t count) {
  using V = typename Vector<bytes>::Type;
  constexpr size_t kLanes = bytes / sizeof(float);
  V sums[kSums] = {};
  for (size_t i = 0; i + kSums * kLanes <= count; i += kSums * kLanes)
#pragma GCC unroll 8
    for (int s = 0; s < kSums; ++s) sums[s] += *reinterpret_cast<const V*>(data + i + s * kLanes);
  V all = {};
#pragma GCC unroll 12
  for (const V& sum : sums) all += sum;
  return all[0];
}

template <int bytes>
[[gnu::always_inline]] inline float products_of(float factor, int64_t steps) {
  using V = typename Vector<bytes>::Type;
  V sums[kProducts], factors = {};
  factors += factor;
#pragma GCC unroll 12
  for (int s = 0; s < kProducts; ++s) sums[s] = factors + static_cast<float>(s);
  for (int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (int s = 0; s < kProducts; ++s) sums[s] = sums[s] * factors + factors;
  V all = {};
#pragma GCC unroll 12
  for (const V& sum : sums) all += sum;
  return all[0];
}

// Loops of one width.
struct Loops {
  int vector_bytes;
  float (*sum)(const float*, size_t);
  float (*products)(float, int64_t);
};

float sum_16(const float* data, size_t count) { return sum_of<16>(data, count); }
float products_16(float factor, int64_t steps) { return products_of<16>(factor, steps); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float sum_32(const float* data, size_t count) { return sum_of<32>(data, count); }
[[gnu::target("avx2,fma")]] float products_32(float factor, int64_t steps) { return products_of<32>(factor, steps); }
[[gnu::target("avx512f,fma")]] float sum_64(const float* data, size_t count) { return sum_of<64>(data, count); }
[[gnu::target("avx512f,fma")]] float products_64(float factor, int64_t steps) { return products_of<64>(factor, steps); }
#endif

Loops loops_of(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return {64, sum_64, products_64};
  if (isa == "avx2") return {32, sum_32, products_32};
#endif
  return {16, sum_16, products_16};
}

volatile float kept;  // what loops compute, so that they are run

// Seconds of one call of `work(repeat)` for each repeat, at the fastest run.
template <class Work>
double seconds_of(Work&& work) {
  int64_t repeat = 1;
  double fastest = 0;
  for (int run = 0; run < kRuns;) {
    const double start = cpu_s();
    work(repeat);
    const double took = cpu_s() - start;
    if (took < kRunS / 2 && repeat < (int64_t{1} << 40)) {
      repeat *= 2;
      continue;
    }
    const double each = took / static_cast<double>(repeat);
    fastest = run == 0 ? each : std::min(fastest, each);
    ++run;
  }
  return fastest;
}

double read_speed(const Loops& loops, const float* data, int64_t bytes) {
  const auto count = static_cast<size_t>(bytes) / sizeof(float);
  const double seconds = seconds_of([&](int64_t repeat) {
    for (int64_t i = 0; i < repeat; ++i) kept = loops.sum(data, count);
  });
  return static_cast<double>(bytes) / seconds / 1e9;
}

double clock_speed() {
#if defined(__x86_64__)
  constexpr int kChain = 16;
  const double seconds = seconds_of([&](int64_t repeat) {
    uint64_t value = 1, added = 1;  // of a constant, additions are no work for newer CPUs (Golden Cove)
    for (int64_t i = 0; i < repeat; ++i)
#pragma GCC unroll 16
      for (int c = 0; c < kChain; ++c) __asm__ volatile("add %1, %0" : "+r"(value) : "r"(added));
  });
  return kChain / seconds / 1e9;
#else
  return 0;
#endif
}

}  // namespace

MachineSpeed measure_machine_speed(const std::string& isa, const CacheSizes& caches) {
  const Loops loops = loops_of(isa);
  const int64_t last = std::max({caches.l1, caches.l2, caches.l3});
  const int64_t beyond = std::clamp(2 * last, kSmallestOfMemory, kLargestArray);
  std::vector<float> space(beyond / sizeof(float) + loops.vector_bytes, 1.0f);
  void* aligned = space.data();
  size_t room = space.size() * sizeof(float);
  const auto* data = static_cast<const float*>(std::align(loops.vector_bytes, beyond, aligned, room));
  if (data == nullptr) throw InternalError("the array for measuring memory is not aligned");
  MachineSpeed speed;
  const auto within = [&](int64_t cache, int64_t smaller) {  // half of a cache, beyond the smaller ones
    const int64_t bytes = std::min(cache / 2, beyond / 2);
    return bytes > smaller ? read_speed(loops, data, bytes) : 0;
  };
  speed.read_l1 = within(caches.l1, 0);
  speed.read_l2 = within(caches.l2, caches.l1);
  speed.read_l3 = within(caches.l3, caches.l2);
  if (beyond > last) speed.read_memory = read_speed(loops, data, beyond);
  const double product_s = seconds_of([&](int64_t repeat) { kept = loops.products(0.5f, repeat); });
  speed.flops = 2.0 * kProducts * loops.vector_bytes / sizeof(float) / product_s / 1e9;
  speed.clock = clock_speed();
  return speed;
}

namespace {

// Calls visit(name, field) for each number.
template <class S, class Visit>
void for_each_speed(S& speed, Visit&& visit) {
  visit("read_l1", speed.read_l1);
  visit("read_l2", speed.read_l2);
  visit("read_l3", speed.read_l3);
  visit("read_memory", speed.read_memory);
  visit("flops", speed.flops);
  visit("clock", speed.clock);
}

}  // namespace

nlohmann::json to_json(const MachineSpeed& speed) {
  nlohmann::json json = nlohmann::json::object();
  for_each_speed(speed, [&](const char* name, double value) { json[name] = std::round(value * 1e3) / 1e3; });
  return json;
}

MachineSpeed machine_speed_from_json(const nlohmann::json& json) {
  if (!json.is_object()) throw Error("no speed of a machine");
  MachineSpeed speed;
  for_each_speed(speed, [&](const char* name, double& value) {
    if (!json.contains(name)) return;
    if (!json[name].is_number() || json[name] < 0) throw Error(std::string("no speed of a machine: ") + name);
    value = json[name];
  });
  return speed;
}

}  // namespace hone
