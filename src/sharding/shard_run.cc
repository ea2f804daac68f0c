#include "sharding/shard_run.h"

#include <algorithm>

#include "base/error.h"
#include "base/stats.h"
#include "tune/session/replies.h"

namespace hone::sharding {

namespace {

double least_seconds(const std::vector<double>& ns) {
  return ns.empty() ? 0 : 1e-9 * *std::min_element(ns.begin(), ns.end());
}

RatioTo ratio_to(const std::vector<double>& one, const std::vector<double>& many) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(one.size(), many.size()); ++i) ratios.push_back(one[i] / many[i]);
  if (ratios.empty()) return {};
  const Interval interval = median_interval(ratios);
  return {median(ratios), interval.low, interval.high};
}

}  // namespace

MeasuredShardings measured_shardings(const wire::RunShardedReplyT& reply, size_t candidates) {
  if (reply.candidates.size() != candidates) throw RunError("the worker measured another number of shardings");
  MeasuredShardings out;
  out.threads = reply.threads;
  out.one_thread_seconds = least_seconds(reply.one_thread_ns);
  out.all_threads_seconds = least_seconds(reply.all_threads_ns);
  for (const auto& row : reply.candidates) {
    MeasuredSharding& m = out.candidates.emplace_back();
    m.outcome = tune::outcome_of(row->verdict);
    m.note = row->note;
    m.max_error = row->max_error;
    m.compile_ms = row->compile_ms;
    m.seconds = least_seconds(row->times_ns);
    m.rounds = static_cast<int>(row->times_ns.size());
    m.one_thread = ratio_to(reply.one_thread_ns, row->times_ns);
    m.all_threads = ratio_to(reply.all_threads_ns, row->times_ns);
  }
  return out;
}

MeasuredShardings run_shardings(tune::Session& session, const std::vector<wire::PartitioningT>& candidates,
                                const tune::Duel& duel) {
  try {
    return measured_shardings(session.run_sharded(candidates, duel), candidates.size());
  } catch (const wire::WorkerFailure&) {
    if (candidates.size() < 2) throw;
  }
  MeasuredShardings out;
  bool any = false;
  std::string last;
  for (const wire::PartitioningT& candidate : candidates) try {
      const MeasuredShardings one = measured_shardings(session.run_sharded({candidate}, duel), 1);
      const auto least = [any](double a, double b) { return any ? std::min(a, b) : b; };
      out.threads = one.threads;
      out.one_thread_seconds = least(out.one_thread_seconds, one.one_thread_seconds);
      out.all_threads_seconds = least(out.all_threads_seconds, one.all_threads_seconds);
      out.candidates.push_back(one.candidates[0]);
      any = true;
    } catch (const wire::WorkerFailure& died) {
      last = died.what();
      out.candidates.push_back({.outcome = tune::Outcome::Crashed, .note = last});
    }
  if (!any) throw RunError("no sharding and not one device could be run: " + last);
  return out;
}

}  // namespace hone::sharding
