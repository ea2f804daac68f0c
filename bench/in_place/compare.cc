// How fast is an option of a kernel: by itself, in a run of the program beside other kernels' options, and in truth? The
// truth is a long duel of the program with this option and nothing else: what it saves, over the kernel's share of the time.
//
//   bench_in_place [--share S] PROGRAM... > rows.jsonl     one line for each option of a kernel of at least this share (0.1)
#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "tune/kernel/kernel_moves.h"
#include "tune/session/decision_list.h"
#include "tune/session/session.h"

using namespace hone;

namespace {

constexpr int kOptionsOfKernel = 4;
constexpr tune::Duel kCareful{.min_rounds = 9, .max_rounds = 120, .budget_ms = 400, .precision = 0.01, .limit_s = 60};
constexpr tune::Duel kRound{.min_rounds = 3, .max_rounds = 24, .budget_ms = 400, .precision = 0, .limit_s = 60};
constexpr tune::Duel kTruth{.min_rounds = 15, .max_rounds = 400, .budget_ms = 4000, .precision = 0.001, .limit_s = 120};

// Of a kernel with this share of the time, when the program is `ratio` times as fast; 0 where that cannot be.
double implied(double ratio, double share) {
  const double left = 1 - (1 - 1 / ratio) / share;
  return left > 0 ? 1 / left : 0;
}

void compare(const std::string& path, double least_share) {
  tune::Session session({});
  session.load(read_file(path), path);
  const Lowered lowered = session.lower({}, false);
  const std::map<std::string, double> times = session.instruction_times({}, 5);
  double total = 0;
  for (const auto& [name, ns] : times) total += ns;
  struct Entry {
    const Kernel* kernel;
    double share;
    std::vector<int> options;
  };
  std::vector<Entry> entries;
  Rng rng(0);
  for (const Kernel& kernel : lowered.kernels) {
    if (kernel.dimension.options.size() < 2) continue;
    double ns = 0;
    for (const std::string& name : kernel.instructions)
      if (const auto found = times.find(name); found != times.end()) ns += found->second;
    entries.push_back({&kernel, ns / total, tune::first_options(kernel.dimension, kOptionsOfKernel, rng)});
  }
  for (int round = 0; round < kOptionsOfKernel; ++round) {
    std::vector<const Kernel*> kernels;
    std::vector<double> shares;
    Decisions options;
    for (const Entry& e : entries) {
      if (round >= static_cast<int>(e.options.size())) continue;
      kernels.push_back(e.kernel);
      shares.push_back(e.share);
      options.push_back(tune::as_decision(e.kernel->dimension, e.options[round]));
    }
    if (kernels.empty()) return;
    const tune::InPlaceDuel together = session.measure_in_place(options, {}, kernels, kRound);
    double kernels_ns = 0;
    for (const tune::Measurement& m : together.kernels) kernels_ns += m.ok() ? m.baseline_ns : 0;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (shares[i] < least_share) continue;
      const tune::Measurement alone = session.measure_kernel(*kernels[i], options[i].value, kCareful);
      const tune::Measurement truth = session.measure_program({options[i]}, {}, kTruth);
      if (!alone.ok() || !together.program.ok() || !together.kernels[i].ok() || !truth.ok()) continue;
      const nlohmann::json row = {{"file", path},
                                  {"kernel", kernels[i]->name},
                                  {"option", options[i].value},
                                  {"share", shares[i]},
                                  {"run_ns", truth.baseline_ns},
                                  {"together", kernels.size()},
                                  {"kernels_share", kernels_ns / together.program.baseline_ns},
                                  {"alone", alone.ratio},
                                  {"in_place", together.kernels[i].ratio},
                                  {"rounds", together.kernels[i].rounds},
                                  {"program", truth.ratio},
                                  {"program_interval", {truth.ratio_low, truth.ratio_high}},
                                  {"truth", implied(truth.ratio, shares[i])}};
      fmt::print("{}\n", row.dump());
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  double least_share = 0.1;
  int first = 1;
  if (argc > 2 && std::strcmp(argv[1], "--share") == 0) {
    least_share = std::atof(argv[2]);
    first = 3;
  }
  if (first >= argc) {
    fmt::print(stderr, "usage: bench_in_place [--share S] PROGRAM...\n");
    return 2;
  }
  for (int i = first; i < argc; ++i) try {
      compare(argv[i], least_share);
    } catch (const std::exception& e) {
      fmt::print(stderr, "{}: {}\n", argv[i], e.what());
    }
  return 0;
}
