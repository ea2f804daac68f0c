#include "decisions/instruction_runs.h"

#include <algorithm>
#include <map>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/service/cpu/backend_config.pb.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"
#include "xla_pch.h"

namespace hone::xla_side {

using Opcode = xla::HloOpcode;
namespace {

double known_trips(const xla::HloInstruction& loop, InstructionRuns& out) {
  const auto config = loop.backend_config<xla::WhileLoopBackendConfig>();
  if (config.ok() && config->has_known_trip_count()) return std::max<double>(1, config->known_trip_count().n());
  ++out.unknown_loops;
  return 1;
}

void count_runs(const xla::HloComputation& computation, double runs, InstructionRuns& out) {
  for (const auto* instruction : computation.instructions()) {
    out.runs[instruction] += runs;
    if (!runs_computations(instruction->opcode())) continue;
    const double each = instruction->opcode() == Opcode::kWhile ? runs * known_trips(*instruction, out) : runs;
    for (const auto* called : instruction->called_computations()) count_runs(*called, each, out);
  }
}

// Kernels are described by themselves; the others do nothing when they run, or run other computations.
bool moves_nothing(Opcode opcode) {
  switch (opcode) {
    case Opcode::kFusion:
    case Opcode::kDot:
    case Opcode::kConvolution:
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kBitcast:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kAfterAll:
      return true;
    default:
      return runs_computations(opcode) || is_collective(opcode);
  }
}

double array_bytes(const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, sizeof(void*)); }

double moved_by(const xla::HloInstruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kDynamicSlice || opcode == Opcode::kSlice || opcode == Opcode::kGather)
    return 2 * array_bytes(instruction.shape());
  if (opcode == Opcode::kDynamicUpdateSlice) return 2 * array_bytes(instruction.operand(1)->shape());
  double bytes = array_bytes(instruction.shape());
  for (const auto* operand : instruction.operands()) bytes += array_bytes(operand->shape());
  return bytes;
}

}  // namespace

bool runs_computations(Opcode opcode) {
  return opcode == Opcode::kWhile || opcode == Opcode::kCall || opcode == Opcode::kConditional;
}

double InstructionRuns::of(const xla::HloInstruction& instruction) const {
  const auto found = runs.find(&instruction);
  return found == runs.end() ? 0 : found->second;
}

InstructionRuns runs_of(const xla::HloModule& module) {
  InstructionRuns out;
  count_runs(*module.entry_computation(), 1, out);
  return out;
}

bool is_collective(Opcode opcode) {
  return opcode == Opcode::kAllReduce || opcode == Opcode::kAllGather || opcode == Opcode::kReduceScatter ||
         opcode == Opcode::kAllToAll || opcode == Opcode::kCollectivePermute || opcode == Opcode::kRaggedAllToAll ||
         opcode == Opcode::kCollectiveBroadcast;
}

std::vector<Moved> moved_in(const xla::HloModule& module, const InstructionRuns& runs) {
  std::map<double, double> runs_by_bytes;
  for (const auto* computation : module.MakeNonfusionComputations())
    for (const auto* instruction : computation->instructions())
      if (!moves_nothing(instruction->opcode())) runs_by_bytes[moved_by(*instruction)] += runs.of(*instruction);
  std::vector<Moved> moved;
  for (const auto& [bytes, count] : runs_by_bytes)
    if (count > 0) moved.push_back({bytes, count});
  return moved;
}

double moved_bytes(const xla::HloModule& module, const InstructionRuns& runs) {
  double bytes = 0;
  for (const Moved& each : moved_in(module, runs)) bytes += each.bytes * each.runs;
  return bytes;
}

std::vector<bool> operands_from_outside(const xla::HloInstruction& instruction) {
  const bool in_entry = instruction.parent() == instruction.GetModule()->entry_computation();
  std::vector<bool> outside;
  for (const auto* operand : instruction.operands()) {
    while (operand->opcode() == Opcode::kBitcast || operand->opcode() == Opcode::kGetTupleElement ||
           operand->opcode() == Opcode::kReshape)
      operand = operand->operand(0);
    const Opcode opcode = operand->opcode();
    outside.push_back(in_entry && (opcode == Opcode::kParameter || opcode == Opcode::kConstant));
  }
  return outside;
}

double outside_bytes(const xla::HloModule& module) {
  const auto* entry = module.entry_computation();
  double bytes = array_bytes(entry->root_instruction()->shape());
  for (const auto* instruction : entry->instructions())
    if (instruction->opcode() == Opcode::kParameter || instruction->opcode() == Opcode::kConstant)
      bytes += array_bytes(instruction->shape());
  return bytes;
}

}  // namespace hone::xla_side
