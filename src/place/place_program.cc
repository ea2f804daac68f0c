#include "place/place_program.h"

#include <algorithm>
#include <set>

#include "base/stats.h"
#include "graph/hlo_reader.h"
#include "sim/roofline.h"
#include "tune/session/replies.h"

namespace hone::place {

namespace {

constexpr int kMostLowerings = 10;

std::string producer_of(const std::string& edge) { return edge.substr(0, edge.find('>')); }

std::string consumer_of(const std::string& edge) { return edge.substr(edge.find('>') + 1); }

GraphSources sources_of(const wire::LowerReplyT& lowered) {
  GraphSources sources;
  for (const auto& kernel : lowered.kernels)
    for (const std::string& instruction : kernel->instructions)
      sources.costs[instruction] = {kernel->flops, kernel->transcendentals, kernel->bytes_read, kernel->bytes_written};
  sources.names = names_before_fusion(lowered.hlo);
  sources.trip_counts = known_trip_counts(lowered.hlo);
  return sources;
}

// Names before fusion are only needed by place_program().
void erase_names_before_fusion(std::string& line) {
  const size_t begin = line.find("op_type=\"@");
  if (begin == std::string::npos) return;
  size_t end = line.find('"', begin + 10) + 1;
  if (line[end] == ' ') ++end;
  line.erase(begin, end - begin);
  if (const size_t empty = line.find(", metadata={}"); empty != std::string::npos) line.erase(empty, 13);
}

// Adds attributes to an instruction's line of HLO text.
void annotate_line(std::string& line, const std::string& attributes) {
  constexpr std::string_view kKey = "frontend_attributes={";
  const size_t present = line.find(kKey);
  if (present != std::string::npos)
    line.insert(present + kKey.size(), attributes + ",");
  else
    line += ", frontend_attributes={" + attributes + "}";
}

}  // namespace

PlacedProgram place_program(tune::Session& session) {
  PlacedProgram out;
  std::set<std::string> by_default, edges;
  bool any_fusion = false;
  wire::LowerReplyT lowered = session.lower_reply({}, /*want_fusion=*/true);
  for (const auto& dimension : lowered.dimensions) {
    const Dimension d = wire::from_wire(*dimension);
    if (d.kind != DecisionKind::Fusion) continue;
    any_fusion = true;
    edges.insert(d.key);
    if (d.default_option == 1) by_default.insert(d.key);
  }
  for (int round = 0; round < kMostLowerings; ++round) {
    out.keep_all.clear();
    for (const std::string& edge : edges) out.keep_all.push_back({DecisionKind::Fusion, edge, "keep"});
    lowered = session.lower_reply(out.keep_all, /*want_fusion=*/true);
    const size_t known = edges.size();
    for (const auto& dimension : lowered.dimensions)
      if (const Dimension d = wire::from_wire(*dimension); d.kind == DecisionKind::Fusion) edges.insert(d.key);
    if (edges.size() == known) break;
  }
  for (const auto& kernel : lowered.kernels)
    for (const std::string& instruction : kernel->instructions) out.kernels[instruction] = kernel->fingerprint;
  out.edges.assign(edges.begin(), edges.end());
  const std::string_view proto(reinterpret_cast<const char*>(lowered.module_proto.data()), lowered.module_proto.size());
  out.program = program_graph(read_hlo_graph(proto), sources_of(lowered));
  out.hlo = std::move(lowered.hlo);
  if (any_fusion) {
    std::set<std::string> fused;
    for (const std::string& edge : by_default) fused.insert(producer_of(edge));
    for (const sim::Op& op : out.program.graph.ops) out.xla_fusion.push_back(fused.count(op.name));
  }
  return out;
}

PlacedProgram place_kernels(tune::Session& session) {
  PlacedProgram out;
  wire::LowerReplyT lowered = session.lower_reply({}, /*want_fusion=*/true, /*want_protos=*/true);
  const std::string_view proto(reinterpret_cast<const char*>(lowered.module_proto.data()), lowered.module_proto.size());
  GraphSources sources = sources_of(lowered);
  sources.names.clear();
  sources.whole_instructions = true;
  CompiledProgram& compiled = out.compiled.emplace();
  compiled.module = read_hlo_graph(proto);
  compiled.trip_counts = sources.trip_counts;
  out.program = program_graph(compiled.module, sources);
  compiled.kernels = tune::lowered_of(lowered).kernels;
  for (const Kernel& kernel : compiled.kernels)
    for (const std::string& instruction : kernel.instructions) out.kernels[instruction] = kernel.fingerprint;
  out.hlo = std::move(lowered.hlo);
  return out;
}

namespace {

// Seconds of instructions of a lowered module with all that they call.
class CalledSeconds {
 public:
  CalledSeconds(const CompiledProgram& program, const std::map<std::string, double>& seconds)
      : program_(program), seconds_(seconds) {}

  double of(const Node& n, bool in_loop) const {
    if (const auto known = seconds_.find(n.name); known != seconds_.end()) return known->second;
    if (n.opcode == "while" || n.opcode == "call" || n.opcode == "conditional") return of_called(n);
    const bool moves = in_loop && n.opcode != "parameter" && n.opcode != "constant" && n.opcode != "bitcast" &&
                       n.opcode != "tuple" && n.opcode != "get-tuple-element";
    return moves ? static_cast<double>(n.shape.bytes()) / sim::kHostBytesMoved : 0;
  }

 private:
  double of_called(const Node& n) const {
    double sum = 0;
    for (const int32_t called : n.called) {
      double one = 0;
      const Computation& computation = program_.module.computations[called];
      for (int32_t i = computation.first; i < computation.last; ++i) one += of(program_.module.nodes[i], true);
      sum = n.opcode == "conditional" ? std::max(sum, one) : sum + one;
    }
    if (n.opcode != "while") return sum;
    const auto known = program_.trip_counts.find(n.name);
    return sum * static_cast<double>(known == program_.trip_counts.end() ? kUnknownTrips : known->second);
  }

  const CompiledProgram& program_;
  const std::map<std::string, double>& seconds_;
};

}  // namespace

std::vector<double> seconds_of_kernels(const PlacedProgram& program, const std::map<std::string, double>& seconds) {
  const CompiledProgram& compiled = program.compiled.value();
  const CalledSeconds called(compiled, seconds);
  const Computation& entry = compiled.module.computations.at(compiled.module.entry);
  std::map<std::string, double> by_name;
  for (int32_t i = entry.first; i < entry.last; ++i)
    by_name[compiled.module.nodes[i].name] = called.of(compiled.module.nodes[i], false);
  std::vector<double> out;
  for (const std::string& instruction : program.program.instructions) out.push_back(by_name[instruction]);
  return out;
}

Decisions fusion_decisions(const PlacedProgram& program, const sim::Kernels& kernels) {
  const auto& ops = program.program.graph.ops;
  std::set<std::string> fuse;
  for (int32_t k = 0; k < kernels.size(); ++k)
    for (int32_t i = kernels.member_offset[k]; i < kernels.member_offset[k + 1]; ++i)
      if (kernels.member[i] != kernels.root[k])
        fuse.insert(ops[kernels.member[i]].name + ">" + ops[kernels.root[k]].name);
  // Constants and instructions that only rename values are not operations of the plan: XLA decides about them.
  std::map<std::string, bool> fused_away;  // of the plan's operations
  std::set<std::string> keep;
  for (size_t i = 0; i < ops.size(); ++i)
    if (ops[i].kind != sim::OpKind::Input) fused_away[ops[i].name] = kernels.kernel_of[i] < 0;
  for (const std::string& edge : program.edges) {
    const auto from = fused_away.find(producer_of(edge)), to = fused_away.find(consumer_of(edge));
    if (from == fused_away.end() || to == fused_away.end()) continue;
    // XLA may fuse a producer into a consumer before the consumer itself is fused away.
    (from->second && to->second ? fuse : keep).insert(edge);
  }
  for (int32_t k = 0; k < kernels.size(); ++k)
    for (int32_t i = kernels.read_offset[k]; i < kernels.read_offset[k + 1]; ++i)
      if (ops[kernels.read[i]].kind != sim::OpKind::Input)
        keep.insert(ops[kernels.read[i]].name + ">" + ops[kernels.root[k]].name);
  Decisions out;
  for (const std::string& edge : fuse) out.push_back({DecisionKind::Fusion, edge, "fuse"});
  for (const std::string& edge : keep)
    if (!fuse.count(edge)) out.push_back({DecisionKind::Fusion, edge, "keep"});
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<double> measured_seconds(tune::Session& session, const PlacedProgram& program, int runs) {
  const tune::TimedRuns timed = session.profile(program.keep_all, runs);
  std::map<std::string, std::map<int, double>> by_run;
  for (const RunSlice& slice : timed.slices) by_run[slice.name][slice.run] += slice.duration_ns * 1e-9;
  std::vector<double> out;
  for (const std::string& instruction : program.program.instructions) {
    const auto found = by_run.find(instruction);
    std::vector<double> times;
    if (found != by_run.end())
      for (const auto& [run, seconds] : found->second) times.push_back(seconds);
    out.push_back(times.empty() ? 0 : *std::min_element(times.begin(), times.end()));
  }
  return out;
}

std::string annotated_hlo(const PlacedProgram& program, const sim::Plan& plan) {
  const auto& ops = program.program.graph.ops;
  std::map<std::string, int32_t> op_of;
  for (size_t i = 0; i < ops.size(); ++i)
    if (ops[i].kind != sim::OpKind::Input) op_of[program.program.instructions[i]] = static_cast<int32_t>(i);
  std::string out;
  bool in_entry = false;
  for (size_t at = 0; at < program.hlo.size();) {
    const size_t end = std::min(program.hlo.find('\n', at), program.hlo.size());
    std::string line = program.hlo.substr(at, end - at);
    at = end + 1;
    erase_names_before_fusion(line);
    if (line.starts_with("ENTRY ")) in_entry = true;
    if (line.starts_with("}")) in_entry = false;
    const size_t equals = line.find(" = ");
    if (in_entry && equals != std::string::npos) {
      std::string name = line.substr(0, equals);
      name = name.substr(name.find_last_of(" %") + 1);
      if (const auto found = op_of.find(name); found != op_of.end()) {
        const int32_t op = found->second;
        std::string attributes = "hone_device=\"" + std::to_string(plan.device.empty() ? 0 : plan.device[op]) + "\",";
        if (!plan.schedule.empty()) attributes += "hone_schedule=\"" + std::to_string(plan.schedule[op]) + "\",";
        attributes += "hone_fusion=\"" + std::to_string(plan.fusion.empty() ? 0 : plan.fusion[op]) + "\"";
        annotate_line(line, attributes);
      }
    }
    out += line + "\n";
  }
  return out;
}

}  // namespace hone::place
