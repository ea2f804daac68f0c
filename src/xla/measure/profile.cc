#include "measure/profile.h"

#include <set>

#include "status.h"
#include "tsl/profiler/lib/profiler_session.h"
#include "tsl/profiler/lib/traceme.h"
#include "tsl/profiler/protobuf/xplane.pb.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr char kRun[] = "hone run";  // our own event around each run, on the profiler's clock
constexpr int kThunks = 3;           // the level at which the host tracer sees every thunk

std::set<std::string> instruction_names(const xla::HloModule& module) {
  std::set<std::string> names;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) names.insert(std::string(instruction->name()));
  return names;
}

// The run an event falls into: the last that began before it.
int run_of(const std::vector<double>& starts_ns, double at_ns) {
  const auto after = std::upper_bound(starts_ns.begin(), starts_ns.end(), at_ns);
  return std::max(0, static_cast<int>(after - starts_ns.begin()) - 1);
}

}  // namespace

std::vector<ProfileEvent> profile_runs(Executable& executable, int runs) {
  const auto once = [&] {
    if (executable.has_donated()) executable.refresh_donated();
    executable.run();
  };
  for (int i = 0; i < 3; ++i) once();
  auto options = tsl::ProfilerSession::DefaultOptions();
  options.set_host_tracer_level(kThunks);
  options.set_device_tracer_level(0);
  auto session = tsl::ProfilerSession::Create(options);
  for (int i = 0; i < runs; ++i) {
    tsl::profiler::TraceMe around(kRun);
    once();
  }
  tensorflow::profiler::XSpace space;
  if (!session->CollectData(&space).ok()) return {};

  // Events are named "instruction#attributes#" or "instruction"; others belong to the runtime.
  const std::set<std::string> known = instruction_names(executable.module());
  std::vector<ProfileEvent> events;
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
        if (name == kRun) starts_ns.push_back(start_ns);
        if (!known.contains(name)) continue;
        const int thread = threads.try_emplace(line.id(), static_cast<int>(threads.size())).first->second;
        events.push_back({std::move(name), 0, thread, start_ns, event.duration_ps() / 1e3});
      }
  std::sort(starts_ns.begin(), starts_ns.end());
  if (starts_ns.empty()) return {};
  for (ProfileEvent& event : events) {
    event.run = run_of(starts_ns, event.start_ns);
    event.start_ns -= starts_ns[0];
  }
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return events;
}

}  // namespace hone::xla_side
