#include "report/perfetto_trace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "report/decision_words.h"
#include "report/trace_writer.h"

namespace hone::report {

namespace {

constexpr uint64_t kProcess = 1;  // ids of tracks
constexpr uint64_t kGain = 2, kPrograms = 3, kKernels = 4, kLowering = 5;
constexpr uint64_t kProfiles = 1000;  // the first; room for a thousand threads
constexpr double kPause = 0.001;      // seconds between the search and the profiled runs

std::string arguments_of(const tune::Trial& t, const std::string& kernel) {
  std::string arguments;
  TraceWriter::argument(arguments, "outcome", tune::outcome_name(t.outcome));
  if (!kernel.empty()) TraceWriter::argument(arguments, "kernel", kernel);
  if (t.ratio > 0) {
    TraceWriter::argument(arguments, "ratio", t.ratio);
    TraceWriter::argument(arguments, "ratio_low", t.ratio_low);
    TraceWriter::argument(arguments, "ratio_high", t.ratio_high);
    TraceWriter::argument(arguments, "candidate_us", t.candidate_ns / 1e3);
    TraceWriter::argument(arguments, "rounds", t.rounds);
  }
  if (t.compile_ms > 0) TraceWriter::argument(arguments, "compile_ms", t.compile_ms);
  if (t.confirms) TraceWriter::argument(arguments, "confirmation", "yes");
  return arguments;
}

// Instructions nest: one begins and ends inside another or beside it. The slices of a thread are sorted by start.
void add_profile(TraceWriter& trace, const std::string& name, const RunProfile& profile, uint64_t first_track,
                 double at_s) {
  trace.track(first_track, name, 0, false);
  std::map<int, std::vector<const ProfileSlice*>> threads;
  for (const ProfileSlice& slice : profile.slices) threads[slice.thread].push_back(&slice);
  uint64_t track = first_track;
  for (const auto& [thread, slices] : threads) {
    trace.track(++track, "thread " + std::to_string(thread), first_track, false);
    std::vector<double> open;  // ends of the slices around
    const auto close_until = [&](double ns) {
      for (; !open.empty() && open.back() <= ns; open.pop_back()) trace.end(track, at_s + open.back() / 1e9);
    };
    for (const ProfileSlice* slice : slices) {
      close_until(slice->start_ns);
      std::string arguments;
      TraceWriter::argument(arguments, "run", slice->run);
      trace.begin(track, at_s + slice->start_ns / 1e9, slice->name, arguments);
      const double end_ns = slice->start_ns + slice->duration_ns;
      open.push_back(open.empty() ? end_ns : std::min(end_ns, open.back()));  // clocks have limited resolution
    }
    close_until(std::numeric_limits<double>::infinity());
  }
}

double length_s(const RunProfile& profile) {
  double end_ns = 0;
  for (const ProfileSlice& slice : profile.slices) end_ns = std::max(end_ns, slice.start_ns + slice.duration_ns);
  return end_ns / 1e9;
}

}  // namespace

std::string perfetto_trace(const TuneReport& report, const RunProfile* before, const RunProfile* after) {
  if (report.timeline.empty())
    throw Error("the package has no timeline of its search", report.program, "tune the program again with --fresh");
  std::map<std::string, std::string> names;
  for (const tune::KernelReport& k : report.kernels) names[k.fingerprint] = k.name;
  TraceWriter trace;
  trace.track(kProcess, "hone tune " + report.program, 0, false);
  trace.track(kGain, "gain over default XLA", kProcess, true);
  trace.track(kPrograms, "whole program", kProcess, false);
  trace.track(kKernels, "kernels", kProcess, false);
  trace.track(kLowering, "lowering", kProcess, false);
  trace.count(kGain, 0, 1);
  for (const tune::Trial& t : report.timeline) {
    const uint64_t track = t.scope == "kernel" ? kKernels : t.scope == "program" ? kPrograms : kLowering;
    const auto kernel = names.find(t.kernel);
    const std::string name = kernel == names.end() ? "" : kernel->second;
    trace.begin(track, t.start_s, name.empty() ? t.what : name + " " + t.what, arguments_of(t, name));
    trace.end(track, t.end_s);
  }
  const std::vector<double> gains = tune::gains_over_default(report.timeline);
  const std::vector<bool> adopted = tune::adopted_trials(report.timeline);
  for (size_t i = 0; i < gains.size(); ++i)
    if (adopted[i]) trace.count(kGain, report.timeline[i].end_s, gains[i]);
  trace.count(kGain, report.timeline.back().end_s, report.speedup);
  double at_s = report.timeline.back().end_s + kPause;
  uint64_t track = kProfiles;
  for (const auto& [name, profile] : {std::pair("default XLA", before), std::pair("tuned", after)}) {
    if (!profile || profile->slices.empty()) continue;
    add_profile(trace, std::string(name) + ", under XLA's profiler", *profile, track, at_s);
    at_s += length_s(*profile) + kPause;
    track += kProfiles;
  }
  return trace.take();
}

}  // namespace hone::report
