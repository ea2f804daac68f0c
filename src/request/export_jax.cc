#include "request/export_jax.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "graph/program_option.h"
#include "request/stock_jax.h"

namespace hone::request {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr char kProgram[] = "program.mlir", kList[] = "export.json";
constexpr char kSignature[] = "python.json";  // of packages made from Python: structures of arguments

fs::path folder_of(const ExportRequest& request, const std::string& name) {
  fs::path path = request.output.empty() ? fs::path(name + ".jax") : fs::path(request.output);
  if (!path.has_filename()) path = path.parent_path();
  const bool is_export = fs::exists(path / kList);
  if (fs::exists(fs::symlink_status(path)) && !(request.force && is_export))
    throw Error(is_export ? "already exists" : "already exists, and is no export", path.string(),
                is_export ? "replace it with --force" : "name another folder with -o");
  return path;
}

// A folder that is removed unless it was moved away.
struct Unfinished {
  fs::path path;
  explicit Unfinished(const fs::path& beside)
      : path(beside.parent_path() / fmt::format(".{}.{}", beside.filename().string(), ::getpid())) {
    std::error_code error;
    if (!fs::create_directory(path, error))
      throw RunError("cannot be written: " + error.message(), beside.string(), "name another folder with -o");
  }
  ~Unfinished() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void move_to(const fs::path& target) const {
    std::error_code error;
    fs::remove_all(target, error);
    fs::rename(path, target, error);
    if (error) throw RunError("cannot be written: " + error.message(), target.string());
  }
};

json signature_of(const std::string& package) {
  const fs::path path = fs::path(package) / kSignature;
  if (!fs::exists(path)) return nullptr;
  return json::parse(shallow_json(read_file(path.string())), nullptr, /*allow_exceptions=*/false);
}

void check_exportable(const OpenedProgram& opened, const std::string& path) {
  if (!opened.file.package) throw Error("not a tuned package", path, "hone tune writes one");
  if (opened.file.package->fingerprint != opened.session->program().program)
    throw Error("program.pb is not the program that was tuned", opened.file.name, "tune the program again");
  if (opened.file.package->target.precision == kInt8Weights)
    throw Error("weights in bytes are made by Hone's runtime, which stock JAX does not have", path,
                "tune the program without --precision, or in bf16");
}

// Decisions that the fastest variant has not are left out of the export.
void choose(JaxExport& exported, const JaxVariants& variants) {
  exported.variant = variants.variants.at(exported.duel ? exported.duel->fastest : 0);
  for (Carried& carried : exported.decisions) {
    const Decisions& kept = exported.variant.decisions;
    if (carried.by.empty() || std::find(kept.begin(), kept.end(), carried.decision) != kept.end()) continue;
    carried.by = carried.instead = "";
    carried.why = "the program is faster without it in stock jaxlib";
  }
}

}  // namespace

int JaxExport::carried() const {
  return static_cast<int>(
      std::count_if(decisions.begin(), decisions.end(), [](const Carried& c) { return !c.by.empty(); }));
}

JaxExport export_to_jax(const ExportRequest& request) {
  if (!report::is_package(request.program.program))
    throw Error("not a tuned package", request.program.program, "hone tune writes one");
  const fs::path target = folder_of(request, report::program_name(request.program.program));
  OpenedProgram opened = open_program(request.program);
  check_exportable(opened, request.program.program);
  const report::LoadedPackage& package = *opened.file.package;
  const JaxVariants variants = jax_variants(*opened.session, package.decisions);
  if (variants.variants.empty())
    throw RunError(
        fmt::format("none of the package's {} decisions can be carried to stock JAX", package.decisions.size()),
        opened.file.name, "all of them need Hone: use hone.load(...).jax");
  JaxExport exported{.program = opened.file.name,
                     .output = target.string(),
                     .decisions = variants.carried,
                     .tuned_speedup = package.speedup};
  const Unfinished folder(fs::absolute(target));
  if (request.duel_s > 0)
    exported.duel = duel_in_jaxlib(*opened.session, variants.variants, request.duel_s, request.quiet);
  choose(exported, variants);

  write_file((folder.path / kProgram).string(), exported.variant.stablehlo);
  StockJax stock({.program = opened.file.name, .threads = opened.session->target().threads});
  exported.python = stock.ask({{"do", "export"},
                               {"name", opened.file.name},
                               {"file", (folder.path / kProgram).string()},
                               {"to", folder.path.string()},
                               {"signature", signature_of(request.program.program)},
                               {"options", exported.variant.compiler_options},
                               {"flags", exported.variant.xla_flags}});
  write_file((folder.path / kList).string(), to_json(exported).dump(1) + "\n");
  folder.move_to(fs::absolute(target));
  return exported;
}

json to_json(const JaxExport& exported) {
  json decisions = json::array(), duel;
  for (const Carried& carried : exported.decisions)
    decisions.push_back({{"kind", decision_kind_name(carried.decision.kind)},
                         {"key", carried.decision.key},
                         {"value", carried.decision.value},
                         {"carried_by", carried.by.empty() ? json() : json(carried.by)},
                         {"instead", carried.instead},
                         {"why", carried.why}});
  if (exported.duel)
    duel = {{"speedup", exported.duel->speedup.ratio},
            {"speedup_interval", {exported.duel->speedup.low, exported.duel->speedup.high}},
            {"original_ns", exported.duel->original_ns},
            {"exported_ns", exported.duel->exported_ns},
            {"turns", exported.duel->turns},
            {"clock", exported.duel->cpu_time ? "cpu" : "wall"},
            {"max_error", exported.duel->max_error}};
  return {{"program", exported.program},
          {"output", exported.output},
          {"decisions", decisions},
          {"carried", exported.carried()},
          {"compiler_options", exported.variant.compiler_options},
          {"xla_flags", exported.variant.xla_flags},
          {"tuned_speedup", exported.tuned_speedup},
          {"inputs", exported.python.at("inputs")},
          {"outputs", exported.python.at("outputs")},
          {"wide", exported.python.at("wide")},
          {"structured", exported.python.at("structured")},
          {"jax", exported.python.at("jax")},
          {"jaxlib", exported.python.at("jaxlib")},
          {"duel", duel}};
}

}  // namespace hone::request
