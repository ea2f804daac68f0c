#include "measure/partition.h"

#include "decisions/instruction_runs.h"
#include "status.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/buffer_assignment.h"
#include "xla/service/call_inliner.h"
#include "xla/service/cpu/cpu_compiler.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using Opcode = xla::HloOpcode;

xla::HloSharding parsed_sharding(const std::string& text, const xla::HloInstruction& instruction, int partitions) {
  const std::string name(instruction.name());
  const xla::HloSharding sharding = take(xla::ParseSharding(text), "sharding of " + name, true);
  const xla::Shape& shape = instruction.shape();
  if (!shape.IsArray() || sharding.IsTuple()) throw Error("only arrays can have a sharding", name);
  check(sharding.Validate(shape, partitions), "sharding of " + name, true);
  if (sharding.IsReplicated() || sharding.IsTileMaximal()) return sharding;
  for (int64_t d = 0; d < shape.dimensions_size(); ++d)
    if (shape.dimensions(d) % sharding.tile_assignment().dim(d) != 0)
      throw Error("dimension " + std::to_string(d) + " of size " + std::to_string(shape.dimensions(d)) +
                      " does not divide into " + std::to_string(sharding.tile_assignment().dim(d)) + " parts",
                  name);
  return sharding;
}

std::vector<int> a_group(const xla::HloInstruction& collective, int partitions) {
  std::vector<int> devices;
  if (collective.opcode() == Opcode::kCollectivePermute) {
    for (const auto& [from, to] : collective.source_target_pairs())
      if (from != to) return {static_cast<int>(from), static_cast<int>(to)};
    return {0};
  }
  const auto* whole = xla::DynCast<xla::HloCollectiveInstruction>(&collective);
  if (whole != nullptr && !whole->replica_groups().empty())
    for (int64_t id : whole->replica_groups()[0].replica_ids()) devices.push_back(static_cast<int>(id));
  if (devices.empty())
    for (int i = 0; i < partitions; ++i) devices.push_back(i);
  return devices;
}

double bytes_of_operands(const xla::HloInstruction& instruction) {
  double bytes = 0;
  for (const auto* operand : instruction.operands())
    bytes += xla::ShapeUtil::ByteSizeOf(operand->shape(), sizeof(void*));
  return bytes;
}

// How often host devices meet for it.
int64_t meetings(const xla::HloInstruction& collective) {
  return collective.opcode() == Opcode::kAllToAll ? 1 : std::max<int64_t>(1, collective.operand_count());
}

void describe_transfers(const xla::HloModule& module, int partitions, Partitioned& out) {
  const InstructionRuns runs = runs_of(module);
  out.moved_bytes = moved_bytes(module, runs);
  for (const auto* computation : module.MakeNonfusionComputations())
    for (const auto* instruction : computation->instructions()) {
      const double times = runs.of(*instruction);
      if (!is_collective(instruction->opcode()) || times <= 0) continue;
      CollectiveUse use{std::string(xla::HloOpcodeString(instruction->opcode())), bytes_of_operands(*instruction),
                        a_group(*instruction, partitions), times};
      out.collectives.push_back(use);
      const auto more = static_cast<double>(meetings(*instruction) - 1);
      if (more == 0) continue;
      use.bytes = 0;
      use.runs *= more;
      out.collectives.push_back(std::move(use));
    }
}

std::vector<std::string> texts(const xla::HloSharding& sharding) {
  std::vector<std::string> out;
  if (!sharding.IsTuple()) return {sharding.ToString()};
  for (const xla::HloSharding& element : sharding.tuple_elements()) out.push_back(element.ToString());
  return out;
}

// A program that communicates by itself, or that says in the middle how a value is divided by hand, is no program of one device. What
// with_sharding_constraint asks for is decided anew: the call is its operand.
void remove_own_shardings(xla::HloModule& module) {
  for (auto* computation : module.computations())
    for (auto* instruction : computation->MakeInstructionPostOrder()) {
      if (is_collective(instruction->opcode()))
        throw Error("the program has collectives of its own", std::string(instruction->name()),
                    "give the program of one device, before it is divided");
      if (instruction->opcode() == Opcode::kCustomCall) {
        const std::string& target = instruction->custom_call_target();
        if (target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape")
          throw Error("the program is divided by hand (" + target + ")", std::string(instruction->name()),
                      "give the program without shard_map");
        if (target == "Sharding")
          check(computation->ReplaceInstruction(instruction, instruction->mutable_operand(0)), "a sharding constraint");
        else
          instruction->clear_sharding();
        continue;
      }
      instruction->clear_sharding();
    }
}

}  // namespace

std::unique_ptr<xla::HloModule> with_shardings(const xla::HloModule& program, const Partitioning& partitioning) {
  auto module = program.Clone("");
  module->set_name(program.name());
  check(xla::CallInliner().Run(module.get()).status(), "inlining calls");
  const int partitions = partitioning.partitions;
  if (partitions < 1) throw Error("a program needs at least one device");
  remove_own_shardings(*module);
  xla::HloComputation* entry = module->entry_computation();
  for (auto* parameter : entry->parameter_instructions())
    parameter->set_sharding(parameter->shape().IsTuple()
                                ? xla::HloSharding::SingleTuple(parameter->shape(), xla::HloSharding::Replicate())
                                : xla::HloSharding::Replicate());
  std::unordered_map<std::string, xla::HloInstruction*> by_name;
  for (auto* instruction : entry->instructions()) by_name[std::string(instruction->name())] = instruction;
  for (const auto& [name, text] : partitioning.shardings) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) throw Error("the entry computation has no such instruction", name);
    found->second->set_sharding(parsed_sharding(text, *found->second, partitions));
  }
  // A donated parameter may be divided otherwise than its result.
  module->set_input_output_alias_config(xla::HloInputOutputAliasConfig(entry->root_instruction()->shape()));
  module->buffer_donor_config() = xla::HloBufferDonorConfig();
  auto& config = module->mutable_config();
  config.set_num_partitions(partitions);
  config.set_use_spmd_partitioning(partitions > 1);
  config.set_use_shardy_partitioner(false);
  config.set_allow_spmd_sharding_propagation_to_output({true});
  config.set_static_device_assignment(xla::DeviceAssignment(1, partitions));
  return module;
}

Partitioned partition(const xla::HloModule& program, const CompileTarget& target, const Partitioning& partitioning) {
  static auto* compiler = new xla::cpu::CpuCompiler;
  Partitioned out;
  const auto module = with_shardings(program, partitioning);
  at_stage(Stage::Passes, [&] {
    out.lowered = lower(*module, target, {});
    describe_transfers(*out.lowered.module, partitioning.partitions, out);
    check(out.lowered.module->set_schedule(take(compiler->CreateHloSchedule(*out.lowered.module), "schedule")),
          "schedule");
    const auto buffers = take(compiler->CreateBufferAssignment(*out.lowered.module), "buffer assignment");
    out.peak_bytes = buffers->GetStats().total_allocation_bytes;
  });
  if (out.lowered.module->has_spmd_parameters_shardings())
    for (const xla::HloSharding& sharding : out.lowered.module->spmd_parameters_shardings())
      out.parameters.push_back(sharding.ToString());
  if (out.lowered.module->has_spmd_output_sharding()) out.results = texts(out.lowered.module->spmd_output_sharding());
  return out;
}

}  // namespace hone::xla_side
