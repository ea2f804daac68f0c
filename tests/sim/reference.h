// A slow reference simulator without queues and reference counts: it recomputes everything at each point in time.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "tests/sim/graphs.h"

namespace hone::sim {

// The ready operation that a device starts: an index into `ready` (ascending operations).
using Choose = std::function<size_t(int device, const std::vector<int>& ready)>;

class Reference {
 public:
  Reference(const TaskGraph& graph, const Topology& topology, std::vector<int32_t> device)
      : graph_(graph), topology_(topology), device_(std::move(device)) {
    const size_t n = graph.ops.size(), devices = topology.devices.size();
    end_.assign(n, kNever);
    arrival_.assign(n * devices, kNever);
    link_free_.assign(topology.links.size(), 0);
    free_at_.assign(devices, 0);
    sent_.assign(n, false);
  }

  // The step time with one rule for choosing.
  double run(const Choose& choose) {
    for (;;) {
      send();
      for (int d = 0; d < topology_.size(); ++d)
        if (const std::vector<int> ready = ready_on(d); !ready.empty()) start(ready[choose(d, ready)], d);
      if (!advance()) return now_;
    }
  }
  // The least step time over all choices.
  double best() {
    send();
    for (int d = 0; d < topology_.size(); ++d) {
      const std::vector<int> ready = ready_on(d);
      if (ready.empty()) continue;
      double least = kNever;
      for (int op : ready) {
        Reference branch = *this;
        branch.start(op, d);
        least = std::min(least, branch.best());
      }
      return least;
    }
    return advance() ? best() : now_;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  void start(int op, int d) {
    end_[op] = now_ + graph_.ops[op].flops / topology_.devices[d].vector_flops;
    free_at_[d] = end_[op];
  }
  // Sends new results to every other device that reads them.
  void send() {
    for (int op = 0; op < graph_.size(); ++op) {
      if (sent_[op] || end_[op] > now_) continue;
      sent_[op] = true;
      for (int to = 0; to < topology_.size(); ++to) {
        if (to == device_[op]) arrival_[index(op, to)] = now_;
        const bool read = std::any_of(graph_.edges.begin(), graph_.edges.end(),
                                      [&](const Edge& e) { return e.from == op && device_[e.to] == to; });
        if (to == device_[op] || !read) continue;
        const int link = topology_.route(device_[op], to)[0];
        const double begin = std::max(now_, link_free_[link]);
        link_free_[link] = arrival_[index(op, to)] =
            begin + topology_.links[link].latency_seconds +
            graph_.ops[op].output_bytes / topology_.links[link].bytes_per_second;
      }
    }
  }
  std::vector<int> ready_on(int d) const {
    std::vector<int> ready;
    if (free_at_[d] > now_) return ready;
    for (int op = 0; op < graph_.size(); ++op) {
      if (device_[op] != d || end_[op] != kNever) continue;
      const bool waits = std::any_of(graph_.edges.begin(), graph_.edges.end(),
                                     [&](const Edge& e) { return e.to == op && arrival_[index(e.from, d)] > now_; });
      if (!waits) ready.push_back(op);
    }
    return ready;
  }
  bool advance() {
    double next = kNever;
    for (const auto* times : {&end_, &arrival_})
      for (double t : *times)
        if (t > now_) next = std::min(next, t);
    if (next == kNever) return false;
    now_ = next;
    return true;
  }
  size_t index(int op, int d) const { return static_cast<size_t>(op) * topology_.devices.size() + d; }

  const TaskGraph& graph_;
  const Topology& topology_;
  std::vector<int32_t> device_;
  std::vector<double> end_, arrival_, link_free_, free_at_;
  std::vector<bool> sent_;
  double now_ = 0;
};

}  // namespace hone::sim
