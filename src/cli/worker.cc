#include <fmt/core.h>

#include "base/isa.h"
#include "cli/cli.h"

namespace hone::cli {

namespace {

int show_worker(const OutputOptions& output) {
  wire::Worker worker({});
  const auto reply = worker.call<wire::HelloReplyT>(wire::HelloRequestT{});
  if (output.json) {
    nlohmann::json seams = nlohmann::json::array();
    for (const auto& seam : reply.seams) seams.push_back({{"name", seam->name}, {"ok", seam->ok}, {"why", seam->why}});
    print({{"xla_version", reply.xla_version},
           {"cpu", reply.cpu},
           {"cores", reply.cores},
           {"isa", cpu_isa()},
           {"seams", seams}});
    return 0;
  }
  fmt::print("XLA of {}, {} with {} cores, {}\n", reply.xla_version, reply.cpu, reply.cores, cpu_isa());
  for (const auto& seam : reply.seams)
    fmt::print("  {:<40} {}\n", seam->name, seam->ok ? "works" : "off: " + seam->why);
  return 0;
}

}  // namespace

Runner declare_worker(CLI::App& app) {
  const auto output = add_output_options(app);
  return [output] { return show_worker(*output); };
}

}  // namespace hone::cli
