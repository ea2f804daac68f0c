// Records a tune in which every measurement is a fixed function of the candidate: programs are lowered by the real
// worker, duels return hashes of the decisions, and time is counted in calls. The same record before and after a change
// of structure means that the candidates, their order and the result are the same.
//
//   bench_behaviour FOLDER > record.jsonl     one line a candidate, then one a result, of every program of FOLDER/examples.json
#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cost/kernel_ranker.h"
#include "tune/program/program_tuner.h"
#include "tune/session/session.h"

using namespace hone;

namespace {

constexpr double kLowerSeconds = 0.3, kKernelSeconds = 0.05, kProgramSeconds = 0.4;

// Spellings of earlier versions, so that records of both can be compared.
std::string text_of(const Decision& d) {
  std::string kind = decision_kind_name(d.kind), value = d.value;
  if (kind == "codegen") kind = "kernel";
  if (kind == "passes") kind = "pass";
  if (kind == "rewrite") kind = "library";
  if (d.key.rfind("reduce:", 0) == 0 && value == "ynn") value = "ynnpack";
  return kind + " " + d.key + "=" + value;
}

std::string text_of(const Decisions& decisions) {
  std::vector<std::string> parts;
  for (const Decision& d : decisions) parts.push_back(text_of(d));
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "|") + part;
  return text;
}

double uniform(const std::string& text) { return static_cast<double>(hash64(text) >> 11) / 9007199254740992.0; }

double log_speed(const Decisions& decisions) {
  double sum = 0;
  for (const Decision& d : decisions) sum += 0.1 * (uniform(text_of(d)) - 0.6);
  return sum;
}

class Replay : public tune::Measurer {
 public:
  Replay(tune::Session& session, double budget_s, std::string program)
      : session_(session), left_(budget_s), program_(std::move(program)) {}

  Lowered lower(const Decisions& decisions, bool want_fusion) override {
    left_ -= kLowerSeconds;
    Lowered lowered;
    try {
      lowered = session_.lower(decisions, want_fusion);
    } catch (const Error& failed) {
      say("lower", text_of(decisions), -1);
      throw;
    }
    say("lower", text_of(decisions), static_cast<double>(lowered.kernels.size()));
    return lowered;
  }
  tune::Measurement measure_kernel(const Kernel& kernel, const std::string& value, const tune::Duel& duel) override {
    left_ -= kKernelSeconds;
    const double u = uniform(kernel.fingerprint + value);
    tune::Measurement m = duel_of(value == kernel.default_value() ? 1 : std::exp(0.6 * (u - 0.7)),
                                  1e4 + 1e6 * uniform(kernel.fingerprint));
    if (u < 0.03) m.outcome = tune::Outcome::Mismatch;
    say("kernel", kernel.fingerprint + " " + value, m.ratio);
    (void)duel;
    return m;
  }
  tune::Measurement measure_program(const Decisions& candidate, const Decisions& baseline, const tune::Duel&) override {
    left_ -= kProgramSeconds;
    const double ratio = std::exp(log_speed(candidate) - log_speed(baseline));
    tune::Measurement m = duel_of(ratio, 5e6 * std::exp(-log_speed(baseline)));
    if (!candidate.empty() && uniform(text_of(candidate)) < 0.02) m.outcome = tune::Outcome::Crashed;
    say("program", text_of(candidate) + " // " + text_of(baseline), m.ratio);
    return m;
  }
  tune::KnownKernel known(const Kernel&) override { return {}; }
  void remember(const Kernel& kernel, const tune::KnownKernel::Best& best) override {
    say("remember", kernel.fingerprint + " " + best.value, best.measurement.ratio);
  }
  std::map<std::string, double> instruction_times(const Decisions&, int) override { return {}; }
  double seconds_left() const override { return std::max(0.0, left_); }
  void fresh_process() override {}
  void begin_confirmation() override { say("confirm", "", 0); }

 private:
  static tune::Measurement duel_of(double ratio, double baseline_ns) {
    tune::Measurement m;
    m.outcome = tune::Outcome::Ok;
    m.baseline_ns = baseline_ns;
    m.candidate_ns = baseline_ns / ratio;
    m.ratio = ratio;
    m.ratio_low = 0.995 * ratio;
    m.ratio_high = 1.005 * ratio;
    m.rounds = 10;
    m.compile_ms = m.baseline_compile_ms = 50;
    m.max_error = 0.1;
    return m;
  }
  void say(const char* what, const std::string& text, double number) const {
    const nlohmann::json row = {
        {"program", program_}, {"asked", what}, {"text", text}, {"answer", fmt::format("{:.6g}", number)}};
    fmt::print("{}\n", row.dump());
  }

  tune::Session& session_;
  double left_;
  std::string program_;
};

void finish(const std::string& program, const tune::ProgramResult& result) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const tune::KernelReport& k : result.kernels)
    kernels.push_back({k.fingerprint, k.chosen, k.kept, k.tried, fmt::format("{:.6g}", k.gain)});
  const nlohmann::json row = {{"program", program},
                              {"decisions", text_of(result.decisions)},
                              {"ratio", fmt::format("{:.6g}", result.measurement.ratio)},
                              {"steps", result.steps.size()},
                              {"lowered", result.lowered.fingerprint},
                              {"kernels", kernels}};
  fmt::print("{}\n", row.dump());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "examples";
  const std::string only = argc > 2 ? argv[2] : "";
  const nlohmann::json examples = nlohmann::json::parse(read_file(folder + "/examples.json"));
  for (const nlohmann::json& example : examples) {
    const std::string name = example.at("name");
    if (!only.empty() && name != only) continue;
    tune::SessionOptions options;
    const std::string weights = example.value("weights", "");
    if (!weights.empty()) options.target.weights = parse_index_list(weights, "weights");
    const auto open = [&] {
      auto session = std::make_unique<tune::Session>(options);
      session->load(read_file(folder + "/" + example.at("file").get<std::string>()), name);
      return session;
    };
    try {
      auto session = open();
      {
        tune::TuneOptions tune;
        tune.budget_s = 40;
        Replay replay(*session, tune.budget_s, name);
        finish(name, tune::tune_program(replay, tune));
      }
      {
        tune::TuneOptions tune;
        tune.budget_s = 12;
        tune.seed = 1;
        const auto ranker = cost::analytical_ranker("", features::this_cpu(1));
        tune.kernel.ranker = ranker.get();
        Replay replay(*session, tune.budget_s, name + "+model");
        finish(name + "+model", tune::tune_program(replay, tune));
      }
      {
        tune::TuneOptions tune;
        tune.budget_s = 10;
        tune.strategy = "genetic";
        Replay replay(*session, tune.budget_s, name + "+genetic");
        finish(name + "+genetic", tune::tune_program(replay, tune));
      }
    } catch (const std::exception& failed) {
      fmt::print("{}\n", nlohmann::json({{"program", name}, {"failed", failed.what()}}).dump());
    }
  }
}
