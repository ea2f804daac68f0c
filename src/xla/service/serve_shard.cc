// A program on several devices: what XLA's partitioner makes of it, and runs on host devices.
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "measure/partition.h"
#include "measure/placed_run.h"
#include "measure/sharded_run.h"
#include "service/handlers.h"
#include "service/judge.h"
#include "service/to_wire.h"
#include "status.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

Partitioning from_request(const wire::PartitioningT* given) {
  Partitioning out;
  if (given == nullptr) return out;
  out.partitions = given->partitions;
  for (const auto& sharding : given->shardings) out.shardings.emplace_back(sharding->instruction, sharding->value);
  return out;
}

// Every sharding names one device: operations are placed whole. Nothing where one does not.
std::optional<Placement> placement_of(const Partitioning& partitioning) {
  Placement out{partitioning.partitions, {}};
  for (const auto& [name, value] : partitioning.shardings) {
    const xla::HloSharding sharding = take(xla::ParseSharding(value), "sharding of " + name, true);
    if (!sharding.HasUniqueDevice()) return std::nullopt;
    const auto device = static_cast<int>(sharding.GetUniqueDevice());
    if (device < 0 || device >= out.devices) throw Error("there is no device " + std::to_string(device), name);
    out.device_of.emplace_back(name, device);
  }
  if (out.device_of.empty()) return std::nullopt;
  return out;
}

struct Candidate {
  std::function<double()> run;
  wire::ShardedRunT* reply = nullptr;
};

template <class Run>
void prepare(Candidate& candidate, Program& program, const CompileTarget& target, std::shared_ptr<Run> run) {
  wire::ShardedRunT& reply = *candidate.reply;
  reply.compile_ms = run->compile_ms();
  const std::vector<xla::Literal> outputs = at_stage(Stage::Run, [&] {
    run->set_inputs(program.inputs());
    run->run();
    return run->outputs();
  });
  const auto& reference = program.reference(target);
  if (judge_outputs(compare(reference, outputs), reply) || judge_by_wide(program, target, reference, outputs, reply))
    candidate.run = [run] { return run->run(); };
}

// Compiles, runs once and compares; a candidate that passes is ready to be timed.
Candidate prepared(Program& program, const Partitioning& partitioning, const CompileTarget& target,
                   wire::ShardedRunT& reply) {
  Candidate candidate{nullptr, &reply};
  about_candidate(reply, [&] {
    if (const auto placement = placement_of(partitioning)) {
      const auto run = std::make_shared<PlacedRun>(program.module(), *placement, target);
      prepare(candidate, program, target, run);
      if (candidate.run && reply.note.empty()) reply.note = run->summary();
    } else {
      prepare(candidate, program, target, std::make_shared<ShardedRun>(program.module(), partitioning, target));
    }
  });
  return candidate;
}

}  // namespace

wire::PartitionReplyT Handlers::partition_program(const wire::PartitionRequestT& request) {
  CompileTarget target = target_of(request.target.get());
  target.threads = 1;  // of one device
  const Partitioning partitioning = from_request(request.partitioning.get());
  const Program& p = program(request.program);
  Partitioned made = partition(p.module(), target, partitioning);
  wire::PartitionReplyT reply;
  KernelMemory& memory = described[{target.threads, target.max_isa, 0, true}];
  for (KernelInfo& kernel :
       distinct_kernels(*made.lowered.module, target.threads, /*max_tiles=*/0, /*want_protos=*/true, &memory))
    reply.kernels.push_back(to_wire_kernel(std::move(kernel)));
  for (const CollectiveUse& use : made.collectives) {
    auto& out = *reply.collectives.emplace_back(std::make_unique<wire::CollectiveT>());
    out.kind = use.kind;
    out.bytes = use.bytes;
    out.devices = use.devices;
    out.runs = use.runs;
  }
  reply.moved_bytes = made.moved_bytes;
  reply.peak_bytes = made.peak_bytes;
  reply.parameters = made.parameters;
  reply.results = made.results;
  reply.instructions = made.lowered.module->instruction_count();
  reply.pass_ms = made.lowered.pass_ms;
  if (request.want_hlo) {
    const auto annotated = with_shardings(p.module(), partitioning);
    if (partitioning.partitions > 1)
      reply.annotated = annotated->ToString(xla::HloPrintOptions().set_print_large_constants(true));
    reply.module_proto = to_wire_proto(*annotated);
    reply.hlo = made.lowered.module->ToString();
  }
  return reply;
}

// One device with all threads is timed as a candidate; its own outputs are compared, too.
wire::RunShardedReplyT Handlers::run_sharded(const wire::RunShardedRequestT& request) {
  Program& p = program(request.program);
  CompileTarget one = target_of(request.target.get());
  const int threads = one.threads;
  one.threads = 1;
  p.prepare_inputs(seed_of(request.target.get()), one);
  wire::RunShardedReplyT reply;
  reply.threads = threads;
  wire::ShardedRunT single, all;
  std::vector<Candidate> sides;
  sides.push_back(prepared(p, {}, one, single));
  if (!sides[0].run) throw RunError("one device: " + single.note);
  if (threads > 1) {
    CompileTarget more = one;
    more.threads = threads;
    sides.push_back(prepared(p, {}, more, all));
  }
  for (const auto& candidate : request.candidates) {
    auto& out = *reply.candidates.emplace_back(std::make_unique<wire::ShardedRunT>());
    sides.push_back(prepared(p, from_request(candidate.get()), one, out));
  }
  const double start_s = steady_s();
  for (int round = 0; round < request.max_rounds; ++round) {
    for (size_t i = 0; i < sides.size(); ++i) {
      Candidate& side = sides[round % 2 == 0 ? i : sides.size() - 1 - i];
      if (!side.run) continue;
      if (&side == &sides[0]) {  // all others are compared with it round by round
        at_stage(Stage::Run, [&] { single.times_ns.push_back(side.run()); });
        continue;
      }
      about_candidate(*side.reply, [&] { at_stage(Stage::Run, [&] { side.reply->times_ns.push_back(side.run()); }); });
    }
    if (round + 1 >= request.min_rounds && ms_since(start_s) > request.budget_ms) break;
  }
  reply.one_thread_ns = single.times_ns;
  reply.all_threads_ns = all.times_ns;
  return reply;
}

}  // namespace hone::xla_side
