#include "measure/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/clock.h"
#include "status.h"
#include "tsl/profiler/lib/profiler_session.h"
#include "tsl/profiler/protobuf/xplane.pb.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr int kThunks = 3;  // the level at which the host tracer sees every thunk
constexpr double kWarmMs = 20;

void add_names(const xla::HloModule& module, std::set<std::string>& names) {
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) names.insert(std::string(instruction->name()));
}

// The run an event falls into: the last that began before it.
int run_of(const std::vector<double>& starts_ns, double at_ns) {
  const auto after = std::upper_bound(starts_ns.begin(), starts_ns.end(), at_ns);
  return std::max(0, static_cast<int>(after - starts_ns.begin()) - 1);
}

std::unique_ptr<tsl::ProfilerSession> begin_profile() {
  auto options = tsl::ProfilerSession::DefaultOptions();
  options.set_host_tracer_level(kThunks);
  options.set_device_tracer_level(0);
  return tsl::ProfilerSession::Create(options);
}

struct Profiled {
  std::vector<RunSlice> slices;
  int runs = 0;
};

// Events are named "instruction#attributes#" or "instruction"; others than those `known` belong to the runtime.
Profiled end_profile(tsl::ProfilerSession& session, const std::set<std::string>& known) {
  tensorflow::profiler::XSpace space;
  if (!session.CollectData(&space).ok()) return {};
  Profiled out;
  std::vector<double> starts_ns;
  std::map<int64_t, int> threads;
  for (const auto& plane : space.planes())
    for (const auto& line : plane.lines())
      for (const auto& event : line.events()) {
        const auto about = plane.event_metadata().find(event.metadata_id());
        if (about == plane.event_metadata().end()) continue;
        std::string name = about->second.name();
        name = name.substr(0, name.find('#'));
        const double start_ns = line.timestamp_ns() + event.offset_ps() / 1e3;
        if (name == kRunEvent) starts_ns.push_back(start_ns);
        if (!known.contains(name)) continue;
        const int thread = threads.try_emplace(line.id(), static_cast<int>(threads.size())).first->second;
        out.slices.push_back({std::move(name), 0, thread, start_ns, event.duration_ps() / 1e3});
      }
  std::sort(starts_ns.begin(), starts_ns.end());
  if (starts_ns.empty()) return {};
  out.runs = static_cast<int>(starts_ns.size());
  for (RunSlice& slice : out.slices) {
    slice.run = run_of(starts_ns, slice.start_ns);
    slice.start_ns -= starts_ns[0];
  }
  std::stable_sort(out.slices.begin(), out.slices.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return out;
}

// Nanoseconds of each kernel in each run.
std::vector<std::vector<double>> kernel_times(const Profiled& profiled,
                                              const std::vector<std::vector<std::string>>& kernels) {
  std::unordered_map<std::string, size_t> kernel_of;
  for (size_t i = 0; i < kernels.size(); ++i)
    for (const std::string& name : kernels[i]) kernel_of[name] = i;
  std::vector<std::vector<double>> times(kernels.size(), std::vector<double>(profiled.runs));
  const std::vector<double> own = own_times(profiled.slices);
  for (size_t i = 0; i < own.size(); ++i)
    if (const auto found = kernel_of.find(profiled.slices[i].name); found != kernel_of.end())
      times[found->second][profiled.slices[i].run] += std::max(0.0, own[i]);
  return times;
}

}  // namespace

std::vector<RunSlice> profile_runs(Executable& executable, int runs) {
  const double start_s = steady_s();
  do {
    time_runs(executable, 0, /*cpu_time=*/false);
  } while (ms_since(start_s) < kWarmMs);
  const auto session = begin_profile();
  time_runs(executable, runs, /*cpu_time=*/false, /*warm=*/true);
  std::set<std::string> known;
  add_names(executable.module(), known);
  return end_profile(*session, known).slices;
}

InPlaceDuel duel_in_place(Executable& baseline, Executable& candidate,
                          const std::vector<std::vector<std::string>>& kernels, DuelOptions options) {
  options.warm = true;
  options.patience_ms = 0;  // every run is one of a round
  const auto session = begin_profile();
  InPlaceDuel out{.whole = duel(baseline, candidate, options), .kernels = std::vector<DuelResult>(kernels.size())};
  std::set<std::string> known;
  add_names(baseline.module(), known);
  add_names(candidate.module(), known);
  const Profiled profiled = end_profile(*session, known);
  if (profiled.runs != 2 * out.whole.rounds) return out;  // this XLA has no profiler, or it lost events
  const std::vector<std::vector<double>> times = kernel_times(profiled, kernels);
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::vector<double> ratios;
    DuelResult result{.baseline_ns = INFINITY, .candidate_ns = INFINITY};
    for (int round = 0; round < out.whole.rounds; ++round) {
      double a = times[k][2 * round], b = times[k][2 * round + 1];
      if (!baseline_first(round)) std::swap(a, b);
      if (!(a > 0 && b > 0)) break;
      result.baseline_ns = std::min(result.baseline_ns, a);
      result.candidate_ns = std::min(result.candidate_ns, b);
      ratios.push_back(a / b);
    }
    result.rounds = static_cast<int>(ratios.size());
    if (result.rounds < out.whole.rounds) continue;
    summarise(std::move(ratios), result);
    out.kernels[k] = result;
  }
  return out;
}

}  // namespace hone::xla_side
