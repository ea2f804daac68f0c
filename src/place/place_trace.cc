#include "place/place_trace.h"

#include <algorithm>
#include <map>
#include <vector>

#include "report/trace_writer.h"

namespace hone::place {

namespace {

constexpr uint64_t kStep = 1, kDevices = 100, kLinks = 1000;  // ids of tracks

// The operations of a kernel; the first is the one whose result it writes.
std::string operations(const sim::TaskGraph& graph, const sim::Kernels& kernels, int32_t k) {
  std::string text = graph.ops[kernels.root[k]].name;
  for (int32_t i = kernels.member_offset[k]; i < kernels.member_offset[k + 1]; ++i)
    if (kernels.member[i] != kernels.root[k]) text += ", " + graph.ops[kernels.member[i]].name;
  return text;
}

}  // namespace

std::string place_trace(const sim::Simulator& simulator, const sim::Plan& plan, const sim::StepTrace& step) {
  const sim::TaskGraph& graph = simulator.graph();
  const sim::Topology& topology = simulator.topology();
  report::TraceWriter trace;
  trace.track(kStep, "simulated step of " + graph.name + " on " + topology.name, 0, false);
  for (int32_t d = 0; d < topology.size(); ++d) trace.track(kDevices + d, topology.devices[d].name, kStep, false);
  std::vector<uint8_t> critical(step.kernels.root.size(), 0);
  for (int32_t k : step.critical_path) critical[k] = 1;
  for (const sim::KernelRun& run : step.runs) {
    const int32_t root = step.kernels.root[run.kernel];
    std::string arguments;
    report::TraceWriter::argument(arguments, "operations", operations(graph, step.kernels, run.kernel));
    report::TraceWriter::argument(arguments, "opcode", graph.ops[root].opcode);
    if (!plan.schedule.empty())
      report::TraceWriter::argument(arguments, "priority", static_cast<double>(plan.schedule[root]));
    report::TraceWriter::argument(arguments, "critical", critical[run.kernel] ? "yes" : "no");
    trace.begin(kDevices + run.device, run.start, graph.ops[root].name, arguments);
    trace.end(kDevices + run.device, run.end);
  }
  // A transfer is drawn on every link of its route.
  std::map<int32_t, std::vector<const sim::TransferRun*>> carried;
  for (const sim::TransferRun& transfer : step.transfers)
    for (int32_t link : topology.route(transfer.from, transfer.to)) carried[link].push_back(&transfer);
  for (const auto& [link, transfers] : carried) {
    trace.track(kLinks + link, topology.links[link].name, kStep, false);
    for (const sim::TransferRun* transfer : transfers) {
      std::string arguments;
      report::TraceWriter::argument(arguments, "bytes", transfer->bytes);
      report::TraceWriter::argument(arguments, "to", topology.devices[transfer->to].name);
      trace.begin(kLinks + link, transfer->start, graph.ops[transfer->op].name, arguments);
      trace.end(kLinks + link, transfer->end);
    }
  }
  return trace.take();
}

}  // namespace hone::place
