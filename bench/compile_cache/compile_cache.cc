// How long programs take to compile without a cache of code, with an empty one, again in the same worker, in another worker
// that shares the folder, with 1 % of the kernels changed, and with an edge of fusion cut. One line of a Markdown table for each
// program.
//
//   compile_cache [--repeat N] PROGRAM...
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "graph/decision.h"
#include "wire/client.h"

using namespace hone;

namespace {

constexpr double kCallSeconds = 900;

struct Program {
  std::string file;
  wire::Worker worker;
  std::string key;
  int64_t instructions = 0;

  Program(const std::string& path, wire::WorkerOptions options) : file(path), worker(std::move(options)) {
    const std::string bytes = read_file(path);
    wire::LoadRequestT request;
    request.name = path;
    request.bytes.assign(bytes.begin(), bytes.end());
    const auto reply = worker.call<wire::LoadReplyT>(std::move(request), kCallSeconds);
    key = reply.program;
    instructions = reply.instructions;
  }

  wire::LowerReplyT lower() {
    wire::LowerRequestT request;
    request.program = key;
    request.want_fusion = true;
    return worker.call<wire::LowerReplyT>(std::move(request), kCallSeconds);
  }

  wire::MeasureReplyT measure(const Decisions& decisions) {
    wire::MeasureRequestT request;
    request.program = key;
    request.decisions = wire::to_wire(decisions);
    request.min_rounds = request.max_rounds = 1;
    request.budget_ms = 1;
    return worker.call<wire::MeasureReplyT>(std::move(request), kCallSeconds);
  }
};

// Another option for one in a hundred fusions, those that come first.
Decisions one_percent(const wire::LowerReplyT& lowered, int& kernels) {
  Decisions decisions;
  kernels = static_cast<int>(lowered.kernels.size());
  const size_t wanted = std::max<size_t>(1, static_cast<size_t>(std::lround(0.01 * kernels)));
  for (const auto& kernel : lowered.kernels) {
    if (decisions.size() == wanted) break;
    if (kernel->kind != "fusion" || kernel->dimension->options.size() < 2) continue;
    decisions.push_back({DecisionKind::Codegen, kernel->dimension->key, kernel->dimension->options[1]});
  }
  return decisions;
}

// A decision that no compiler sees: the program under another name.
const Decisions kSame = {{DecisionKind::Option, "huge_pages", "on"}};

void check(const wire::MeasureReplyT& reply) {
  if (reply.verdict != wire::Verdict::Ok && reply.verdict != wire::Verdict::Unverified)
    throw RunError("a candidate was not fine: " + reply.note);
}

// Compiles with one edge cut, then with another, and so on: the fourth time passes resume without a comparison. The last
// reply; none where the program has no fused edge.
std::optional<wire::MeasureReplyT> cut_edges(Program& program, const wire::LowerReplyT& lowered) {
  constexpr size_t kCuts = 4;
  std::vector<Decisions> cuts;
  for (const auto& d : lowered.dimensions)
    if (d->kind == wire::DecisionKind::Fusion && d->default_option == 1 && cuts.size() < kCuts)
      cuts.push_back({{DecisionKind::Fusion, d->key, "keep"}});
  std::optional<wire::MeasureReplyT> last;
  for (const Decisions& cut : cuts) {
    last = program.measure(cut);
    check(*last);
  }
  return last;
}

std::string counted(const wire::MeasureReplyT& reply) {
  if (!reply.code) return "";
  return fmt::format(" ({} compiled)", reply.code->compiled);
}

std::string cut_text(const std::optional<wire::MeasureReplyT>& cut) {
  if (!cut) return "-";
  const bool resumed = cut->code && cut->code->resumed > 0;
  return fmt::format("{:.0f}{}{}", cut->compile_ms, counted(*cut), resumed ? ", resumed" : "");
}

void report(const std::string& path, const wire::WorkerOptions& worker) {
  wire::WorkerOptions off = worker, cached = worker;
  off.cache_code = false;
  const TempDir folder;
  cached.cache_folder = (folder.path() / "objects").string();

  Program plain(path, off);
  int kernels = 0;
  const auto lowered = plain.lower();
  const Decisions changed = one_percent(lowered, kernels);
  const auto whole = plain.measure(changed);
  check(whole);

  Program first(path, cached);
  const auto same = first.measure(kSame);
  const auto part = first.measure(changed);
  check(same), check(part);
  const auto cut = cut_edges(first, lowered);
  Program second(path, cached);
  const auto disk = second.measure(changed);
  check(disk);
  fmt::print("| {} | {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {} | {:.0f}{} | {:.1f} % | {} |\n",
             path.substr(path.rfind('/') + 1), plain.instructions, kernels, whole.baseline_compile_ms, lowered.pass_ms,
             same.baseline_compile_ms, same.compile_ms, disk.baseline_compile_ms, changed.size(), part.compile_ms,
             counted(part), 100 * part.compile_ms / whole.compile_ms, cut_text(cut));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  wire::WorkerOptions worker;
  std::vector<std::string> programs;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--worker" && i + 1 < argc)
      worker.program = argv[++i];
    else
      programs.emplace_back(argv[i]);
  }
  fmt::print(
      "| program | instructions | kernels | no cache, ms | of which HLO passes | cold, ms | again, ms | another "
      "worker, ms | changed | 1 % "
      "changed, ms | of a whole compile | an edge cut, ms "
      "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  int failed = 0;
  for (const std::string& program : programs) try {
      report(program, worker);
    } catch (const Error& e) {
      fmt::print(stderr, "{}: {}\n", program, e.what());
      ++failed;
    }
  return failed;
}
