#include "cli/place_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cli/shard_report.h"
#include "place/place_trace.h"

namespace hone::cli {

namespace {

using nlohmann::json;

double most(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

json names_of(const sim::Topology& topology) {
  json names = json::array();
  for (const sim::Device& device : topology.devices) names.push_back(device.name);
  return names;
}

// The measured step beside the simulated one.
json run_json(const PlaceRow& row) {
  json out = measured_json(*row.ran);
  if (!(row.ran->seconds > 0)) out["seconds"] = nullptr;
  out["simulated_seconds"] = row.report.step_seconds;
  out["placement"] = row.plan.device;  // empty: all on the first device
  return out;
}

std::string run_text(const PlaceRow& row) {
  if (!row.ran) return "";
  const sharding::MeasuredSharding& m = *row.ran;
  if (m.outcome != tune::Outcome::Ok) return fmt::format("   {}", tune::outcome_name(m.outcome));
  return fmt::format("   {:>10} {:>9.3f}x {:>10.3f}x  {}", human_ns(m.seconds * 1e9), m.one_thread.ratio,
                     m.all_threads.ratio, m.note);
}

json row_json(const PlaceRow& row, bool measured) {
  const sim::StepReport& r = row.report;
  json out = {
      {"strategy", row.name},       {"step_seconds", r.step_seconds}, {"valid", r.valid},
      {"peak_bytes", r.peak_bytes}, {"busy_seconds", r.busy_seconds}, {"transferred_bytes", r.transferred_bytes},
      {"kernels", r.kernels}};
  if (measured) {
    const tune::Measurement& m = row.measured;
    out["measured"] = {{"outcome", tune::outcome_name(m.outcome)}, {"default_seconds", m.baseline_ns * 1e-9},
                       {"seconds", m.candidate_ns * 1e-9},         {"ratio", m.ratio},
                       {"interval", {m.ratio_low, m.ratio_high}},  {"note", m.note}};
  }
  if (row.ran) out["run"] = run_json(row);
  return out;
}

json decisions_json(const PlaceSubject& subject, const sim::Topology& topology, const PlaceCommand& command,
                    const PlaceRow& row) {
  json ops = json::array();
  const auto& graph = subject.graph();
  for (int32_t i = 0; i < graph.size(); ++i) {
    if (graph.ops[i].kind == sim::OpKind::Input) continue;
    json entry = {{"name", graph.ops[i].name}, {"opcode", graph.ops[i].opcode}};
    entry["device"] = topology.devices[row.plan.device.empty() ? 0 : row.plan.device[i]].name;
    entry["schedule"] = row.plan.schedule.empty() ? json(nullptr) : json(row.plan.schedule[i]);
    entry["fusion"] = row.plan.fusion.empty() ? 0 : row.plan.fusion[i];
    ops.push_back(std::move(entry));
  }
  return {{"program", graph.name},
          {"topology", topology.name},
          {"tasks", command.tasks},
          {"strategy", row.name},
          {"seed", command.program->seed.value_or(0)},
          {"step_seconds", row.report.step_seconds},
          {"valid", row.report.valid},
          {"ops", ops}};
}

}  // namespace

json place_json(const PlaceAnswer& answer) {
  const auto& [command, subject, topology, rows, searched, trace] = answer;
  const PlaceRow& chosen = rows.back();
  json result = row_json(chosen, command.measure), baselines = json::object(), table = json::array();
  for (const PlaceRow& row : rows) {
    table.push_back(row_json(row, command.measure));
    if (&row != &chosen) baselines[row.name] = row.report.valid ? json(row.report.step_seconds) : json(nullptr);
  }
  json path = json::array();
  for (int32_t k : trace.critical_path) path.push_back(subject.graph().ops[trace.kernels.root[k]].name);
  result["program"] = subject.graph().name;
  result["topology"] = topology.name;
  result["devices"] = names_of(topology);
  result["tasks"] = command.tasks;
  result["costs"] = command.costs;
  result["parameters"] = command.parameters;
  result["operations"] = subject.graph().size();
  result["edges"] = subject.graph().edges.size();
  result["baselines"] = baselines;
  result["table"] = table;
  result["placement"] =
      chosen.plan.device.empty() ? json(std::vector<int32_t>(subject.graph().ops.size(), 0)) : json(chosen.plan.device);
  result["critical_path"] = path;
  result["gains"] = json::array();
  for (const PlaceGain& gain : searched.gains)
    result["gains"].push_back({{"step", gain.step},
                               {"elapsed_seconds", gain.elapsed_s},
                               {"cpu_seconds", gain.cpu_s},
                               {"step_seconds", gain.seconds}});
  result["search"] = {
      {"simulations", searched.simulations}, {"elapsed_seconds", searched.elapsed_s}, {"cpu_seconds", searched.cpu_s}};
  result["interrupted"] = interrupted();
  for (const auto& [key, path_of] : {std::pair("decisions", &command.out),
                                     {"hlo", &command.hlo},
                                     {"trace", &command.trace},
                                     {"graph", &command.graph}})
    result["output"][key] = path_of->empty() ? json(nullptr) : json(*path_of);
  return result;
}

void print_place(const PlaceAnswer& answer) {
  const auto& [command, subject, topology, rows, searched, trace] = answer;
  fmt::print("{}: {} operations on {} ({}), deciding {}\n\n", subject.graph().name, subject.graph().size(),
             topology.name, topology.size() == 1 ? "1 device" : fmt::format("{} devices", topology.size()),
             command.tasks);
  fmt::print("  {:<16} {:>12} {:>9} {:>12} {:>6} {:>8}{}\n", "strategy", "step", "default/", "peak memory", "busy",
             "kernels",
             command.measure ? "   measured gain"
             : command.run   ? "     measured  one thread all threads"
                             : "");
  const double by_default = rows.front().report.step_seconds;
  for (const PlaceRow& row : rows) {
    const sim::StepReport& r = row.report;
    double busy = 0;
    for (double seconds : r.busy_seconds) busy += seconds;
    std::string measured;
    if (command.measure)
      measured = row.measured.ok() ? fmt::format("   {:.3f}x", row.measured.ratio)
                                   : fmt::format("   {}", tune::outcome_name(row.measured.outcome));
    measured += run_text(row);
    fmt::print("  {:<16} {:>12} {:>8.3f}x {:>12} {:>5.0f}% {:>8}{}\n", row.name,
               r.valid ? human_ns(r.step_seconds * 1e9) : "out of mem.", by_default / r.step_seconds,
               human_bytes(most(r.peak_bytes)), 100 * busy / (r.step_seconds * topology.size()), r.kernels, measured);
  }
  if (!rows.back().report.valid) fmt::print("\n  {} runs out of memory: its time is not valid\n", rows.back().name);
}

void write_place_files(const PlaceAnswer& answer, const sim::Simulator& simulator) {
  const auto& [command, subject, topology, rows, searched, trace] = answer;
  const PlaceRow& chosen = rows.back();
  if (!command.out.empty()) write_file(command.out, decisions_json(subject, topology, command, chosen).dump(1) + "\n");
  if (!command.hlo.empty()) write_file(command.hlo, place::annotated_hlo(subject.placed, chosen.plan));
  if (!command.trace.empty()) write_file(command.trace, place::place_trace(simulator, chosen.plan, trace));
  if (!command.graph.empty()) write_file(command.graph, place::to_json(subject.graph()).dump() + "\n");
}

}  // namespace hone::cli
