// Lists what can be decided about a program: layouts, fusion edges, and the options of its kernels.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/text.h"
#include "decisions/fingerprints.h"
#include "decisions/instruction_runs.h"
#include "decisions/layout_listing.h"
#include "decisions/program_options.h"
#include "decisions/seam_state.h"
#include "decisions/weights.h"
#include "graph/decision_family.h"
#include "service/handlers.h"
#include "service/to_wire.h"
#include "status.h"
#include "wire/client.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr int kMaxTiles = 96;  // listed per kernel

}  // namespace

Program& Handlers::to_lower(const std::string& key, const wire::TargetT* target, const Decisions& decisions) {
  Program& p = program(key);
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Weights && d.value == "constant") p.prepare_inputs(seed_of(target), target_of(target));
  return p;
}

wire::CompileReplyT Handlers::compile(const wire::CompileRequestT& request) {
  if (!request.kernel_hlo.empty()) return compile_alone(request);
  const Decisions decisions = wire::from_wire(request.decisions);
  wire::CompileReplyT reply;
  reply.compile_ms =
      to_lower(request.program, request.target.get(), decisions).compile(target_of(request.target.get()), decisions);
  return reply;
}

wire::CompileReplyT Handlers::compile_alone(const wire::CompileRequestT& request) {
  const double start_s = steady_s();
  std::vector<std::string> objects;
  CompileTarget target = target_of(request.target.get());
  target.cpu = request.cpu;
  kernel_code(request.kernel_hlo, request.kernel_value, target, code.get(), &objects);
  wire::CompileReplyT reply;
  reply.compile_ms = ms_since(start_s);
  for (const std::string& object : objects)
    reply.objects.emplace_back(std::make_unique<wire::ObjectT>())->bytes.assign(object.begin(), object.end());
  return reply;
}

wire::LowerReplyT Handlers::lower(const wire::LowerRequestT& request) {
  const CompileTarget target = target_of(request.target.get());
  const Decisions decisions = wire::from_wire(request.decisions);
  Program& p = to_lower(request.program, request.target.get(), decisions);
  Lowered lowered = request.kept && !request.want_fusion ? p.lower_again(target, decisions)
                                                         : p.lower_with(target, decisions, request.want_fusion);
  wire::LowerReplyT reply;
  reply.fingerprint = module_fingerprint(*lowered.module);
  reply.instructions = lowered.module->instruction_count();
  reply.pass_ms = lowered.pass_ms;
  reply.opcodes = count_opcodes(*lowered.module);
  reply.unmatched = wire::to_wire(lowered.unmatched);
  if (request.want_hlo) {
    reply.hlo = lowered.module->ToString();
    reply.module_proto = to_wire_proto(*lowered.module);
  }
  reply.of_weights = computed_of_weights(*lowered.module, target.weights);
  for (const Dimension& dimension : program_dimensions(p.module(), target))
    reply.dimensions.push_back(to_wire_dimension(dimension));
  for (const auto& [key, reduction] : lowered.reductions)
    reply.dimensions.push_back(to_wire_dimension({DecisionKind::Library,
                                                  key,
                                                  {kCompiledReduction, kYnnpackReduction},
                                                  reduction.default_ynn ? 1 : 0,
                                                  reduction.bytes}));
  if (seam_on("fusion"))
    for (const FusionEdge& edge : lowered.edges)
      reply.dimensions.push_back(
          to_wire_dimension({DecisionKind::Fusion, edge.key, {"keep", "fuse"}, edge.default_fuse, 0}));
  const InstructionRuns runs = runs_of(*lowered.module);
  reply.outside_bytes = outside_bytes(*lowered.module);
  reply.unknown_loops = runs.unknown_loops;
  for (const Moved& each : moved_in(*lowered.module, runs)) {
    auto& moved = *reply.moved.emplace_back(std::make_unique<wire::MovedT>());
    moved.bytes = each.bytes;
    moved.runs = each.runs;
  }
  KernelMemory& memory = described[{lowered.run.threads, target.max_isa, kMaxTiles, request.want_protos}];
  for (KernelInfo& kernel :
       distinct_kernels(*lowered.module, lowered.run.threads, kMaxTiles, request.want_protos, &memory))
    reply.kernels.push_back(to_wire_kernel(std::move(kernel)));
  return reply;
}

wire::ListKernelsReplyT Handlers::list_kernels(const wire::ListKernelsRequestT& request) {
  const CompileTarget target = target_of(request.target.get());
  const Decisions decisions = wire::from_wire(request.decisions);
  Program& p = to_lower(request.program, request.target.get(), decisions);
  const auto is_known = [&](const std::string& fingerprint) {
    return std::binary_search(request.known.begin(), request.known.end(), hash64(fingerprint));
  };
  FusedKernels fused = p.kernels_under(target, decisions);
  const bool complete = std::all_of(fused.kernels.begin(), fused.kernels.end(),
                                    [&](const auto& k) { return k.second.first != nullptr || is_known(k.first); });
  if (!complete) fused = p.kernels_under(target, decisions, /*recall=*/false);
  wire::ListKernelsReplyT reply;
  reply.instructions = fused.instructions;
  std::string contents;
  for (const auto& [fingerprint, counted] : fused.kernels) {
    contents += absl::StrFormat("%s*%d", fingerprint, counted.count);
    contents += counted.runs == counted.count ? "," : absl::StrFormat("(%g),", counted.runs);
    auto kernel = std::make_unique<wire::KernelT>();
    if (!is_known(fingerprint)) {
      kernel = to_wire_kernel(
          describe_kernel(*counted.first, fingerprint, target.threads, /*max_tiles=*/0, /*want_proto=*/true));
      kernel->name = std::string(counted.first->name());
    }
    kernel->fingerprint = fingerprint;
    kernel->count = counted.count;
    kernel->runs = counted.runs;
    reply.kernels.push_back(std::move(kernel));
  }
  reply.fingerprint = hash_hex(contents);
  return reply;
}

wire::ListLayoutsReplyT Handlers::list_layouts(const wire::ListLayoutsRequestT& request) {
  // Decisions that change which instructions there are when layouts are assigned, and what they are called.
  Decisions decisions = wire::from_wire(request.decisions);
  std::erase_if(decisions,
                [](const Decision& d) { return d.kind != DecisionKind::Passes && d.kind != DecisionKind::Rewrite; });
  const Program& p = program(request.program);
  const LayoutListing space =
      at_stage(Stage::Passes, [&] { return layout_listing(p.module(), target_of(request.target.get()), decisions); });
  wire::ListLayoutsReplyT reply;
  reply.module_proto.assign(space.module_proto.begin(), space.module_proto.end());
  for (const Dimension& dimension : space.dimensions) reply.dimensions.push_back(to_wire_dimension(dimension));
  return reply;
}

}  // namespace hone::xla_side
