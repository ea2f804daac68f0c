#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/isa.h"
#include "base/text.h"
#include "cli/cli.h"
#include "request/package_use.h"

namespace hone::cli {

namespace {

using nlohmann::json;

constexpr size_t kShown = 15;  // rows of a table on the terminal

// The size of all decision spaces of one kind.
struct SpaceSize {
  int dimensions = 0;
  double log10_size = 0;
  void add(const Dimension& dimension) {
    if (dimension.options.size() < 2) return;
    ++dimensions;
    log10_size += std::log10(static_cast<double>(dimension.options.size()));
  }
};

struct KernelCount {
  int distinct = 0, total = 0;
};

struct Inspection {
  const wire::LoadReplyT& program;
  std::string max_isa;  // empty = no limit
  wire::LowerReplyT lowered;
  std::map<std::string, KernelCount> kernels;  // by kind
  std::map<DecisionKind, SpaceSize> spaces;    // every kind has one
};

// `decisions`: those of a tuned package; empty for a program.
Inspection inspect(tune::Session& session, const Decisions& decisions) {
  Inspection result{
      session.program(), session.target().max_isa, session.lower_reply(decisions, /*want_fusion=*/true), {}, {}};
  for (const DecisionTraits& kind : decision_kinds()) result.spaces[kind.kind];
  for (const auto& kernel : result.lowered.kernels) {
    KernelCount& count = result.kernels[kernel->kind];
    ++count.distinct;
    count.total += std::max(1, kernel->count);
    if (!kernel->dimension) continue;
    const Dimension dimension = wire::from_wire(*kernel->dimension);
    result.spaces[dimension.kind].add(dimension);
  }
  for (const auto& d : result.lowered.dimensions) {
    const Dimension dimension = wire::from_wire(*d);
    result.spaces[dimension.kind].add(dimension);
  }
  return result;
}

json counts(const std::vector<std::unique_ptr<wire::CountT>>& opcodes) {
  json object = json::object();
  for (const auto& count : opcodes) object[count->name] = count->count;
  return object;
}

json to_json(const Inspection& i) {
  json kernels = json::object(), list = json::array(), spaces = json::object();
  for (const auto& [kind, count] : i.kernels) kernels[kind] = {{"distinct", count.distinct}, {"total", count.total}};
  for (const auto& k : i.lowered.kernels)
    list.push_back({{"name", k->name},
                    {"fingerprint", k->fingerprint},
                    {"kind", k->kind},
                    {"count", k->count},
                    {"flops", k->flops},
                    {"bytes", k->bytes},
                    {"tiled", k->tiled},
                    {"default_tile", k->default_tile},
                    {"tiles", k->tiles},
                    {"options", k->dimension ? k->dimension->options.size() : 0},
                    {"share", k->dimension ? k->dimension->weight : 0}});
  json operations = json::array();
  for (const auto& d : i.lowered.dimensions)
    if (const Dimension dimension = wire::from_wire(*d); dimension.kind == DecisionKind::Rewrite)
      operations.push_back({{"key", dimension.key}, {"options", dimension.options}});
  for (const auto& [kind, space] : i.spaces)
    spaces[decision_kind_name(kind)] = {
        {"dimensions", space.dimensions}, {"log10_size", space.log10_size}, {"words", decision_traits(kind).words}};
  return {{"program", i.program.name},
          {"format", i.program.format},
          {"fingerprint", i.program.program},
          {"instructions", i.program.instructions},
          {"opcodes", counts(i.program.opcodes)},
          {"lowered_instructions", i.lowered.instructions},
          {"lowered_opcodes", counts(i.lowered.opcodes)},
          {"lowered_fingerprint", i.lowered.fingerprint},
          {"pass_ms", i.lowered.pass_ms},
          {"isa", isa_in_effect(i.max_isa)},
          {"max_isa", i.max_isa.empty() ? json(nullptr) : json(i.max_isa)},
          {"kernels", kernels},
          {"kernel_list", list},
          {"operation_list", operations},
          {"flops", i.program.flops},
          {"transcendentals", i.program.transcendentals},
          {"bytes", i.program.bytes_accessed},
          {"parameters", i.program.parameters},
          {"results", i.program.results},
          {"donated", i.program.donated},
          {"constants_left_out", i.program.left_out},
          {"unknown_calls", counts(i.program.unknown_calls)},
          {"lapack", i.program.lapack.empty() ? json(nullptr) : json(i.program.lapack)},
          {"spaces", spaces}};
}

void print_table(const Inspection& i) {
  fmt::print("{}  ({}, {} instructions, {} after XLA's passes)\n", i.program.name, i.program.format,
             i.program.instructions, i.lowered.instructions);
  fmt::print("  {:.4g} FLOPs, {:.4g} transcendentals, {} accessed\n", i.program.flops, i.program.transcendentals,
             human_bytes(i.program.bytes_accessed));
  fmt::print("  {} parameters, {} results\n", i.program.parameters.size(), i.program.results.size());
  if (!i.max_isa.empty()) fmt::print("  compiled for at most {}\n", i.max_isa);
  if (!i.program.lapack.empty()) fmt::print("  linear algebra by {}\n", i.program.lapack);
  if (!i.program.unknown_calls.empty())
    fmt::print("  CANNOT RUN: nothing here computes its custom calls {}\n", request::unknown_calls_text(i.program));
  fmt::print("\n  opcodes\n");
  std::vector<const wire::CountT*> opcodes;
  for (const auto& count : i.program.opcodes) opcodes.push_back(count.get());
  std::stable_sort(opcodes.begin(), opcodes.end(), [](auto* a, auto* b) { return a->count > b->count; });
  for (size_t n = 0; n < std::min(kShown, opcodes.size()); ++n)
    fmt::print("    {:<28} {:>7}\n", opcodes[n]->name, opcodes[n]->count);
  if (opcodes.size() > kShown) fmt::print("    and {} more\n", opcodes.size() - kShown);
  fmt::print("\n  kernels after XLA's passes\n");
  for (const auto& [kind, count] : i.kernels)
    fmt::print("    {:<28} {:>7}, {} distinct\n", kind, count.total, count.distinct);
  fmt::print("\n  decisions\n");
  for (const auto& [kind, space] : i.spaces)
    if (space.dimensions)
      fmt::print("    {:<8} {:>5} dimensions, {:<16} {}\n", decision_kind_name(kind), space.dimensions,
                 fmt::format("10^{:.1f} choices", space.log10_size), decision_traits(kind).words);
}

void print_made(const request::PackageUse& used) {
  const MadeWith& made = used.made;
  fmt::print("\n  package{}\n", used.fit.as_tuned ? "" : ", not run as tuned here");
  if (made.hone.empty()) return fmt::print("    does not say where it was made\n");
  fmt::print("    {:<28} Hone {}, XLA of {}\n", "made with", made.hone, made.xla);
  for (const auto& [name, version] : made.libraries) fmt::print("    {:<28} {}\n", name, version);
  fmt::print("    {:<28} {}, {} cores, {}\n", "made on", made.cpu, made.cores, made.isa);
  fmt::print("    {:<28} {}\n", "may use", fmt::join(made.cpu_features, " "));
}

}  // namespace

Runner declare_inspect(CLI::App& app) {
  const auto program = add_program_options(app, Threads::AllCores);
  const auto output = add_output_options(app);
  return [output, program] {
    OpenedProgram opened = open_program(*program);
    const std::optional<request::PackageUse> used = request::use_package(opened);
    const Inspection inspection = inspect(*opened.session, request::decisions_of(used));
    if (output->json) {
      json object = to_json(inspection);
      if (used) object["package"] = used->json();
      print(object);
    } else {
      print_table(inspection);
      if (used) print_made(*used);
    }
    return 0;
  };
}

}  // namespace hone::cli
