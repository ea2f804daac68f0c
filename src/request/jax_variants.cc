#include "request/jax_variants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "request/against.h"
#include "request/stock_jax.h"

namespace hone::request {
namespace {

constexpr char kAnotherForm[] = "another form", kOriginal[] = "original";

// "--xla_backend_extra_options=a=true,b=true"
std::string flags_text(const wire::ExportReplyT& reply) {
  std::vector<std::string> words;
  for (const auto& flag : reply.flags) words.push_back(flag->name + "=" + flag->value);
  return words.empty() ? "" : fmt::format("--xla_backend_extra_options={}", fmt::join(words, ","));
}

JaxVariant variant_of(const std::string& name, const Decisions& decisions, const wire::ExportReplyT& reply) {
  JaxVariant variant{.name = name,
                     .decisions = decisions,
                     .stablehlo = std::string(reply.stablehlo.begin(), reply.stablehlo.end()),
                     .xla_flags = flags_text(reply)};
  for (const auto& option : reply.options) variant.compiler_options[option->name] = option->value;
  return variant;
}

// One process for each list of flags, since these are a process's.
class Processes {
 public:
  Processes(StockOptions options, std::string inputs) : options_(std::move(options)), inputs_(std::move(inputs)) {}

  StockJax& with(const std::string& flags) {
    std::unique_ptr<StockJax>& found = by_flags_[flags];
    if (!found) {
      options_.flags = flags;
      found = std::make_unique<StockJax>(options_);
      found->set_inputs(inputs_);
    }
    return *found;
  }

 private:
  StockOptions options_;
  std::string inputs_;
  std::map<std::string, std::unique_ptr<StockJax>> by_flags_;
};

}  // namespace

JaxVariants jax_variants(tune::Session& session, const Decisions& decisions) {
  const wire::ExportReplyT reply = session.exported(decisions);
  JaxVariants found;
  Decisions everything, program, own, without_flags;
  for (size_t i = 0; i < decisions.size() && i < reply.carried.size(); ++i) {
    const wire::CarriedT& row = *reply.carried[i];
    const bool another = row.by == kAnotherForm, flag = row.by == "flags", setting = flag || row.by == "options";
    found.carried.push_back({decisions[i], row.by, another ? "" : row.why, another ? row.why : ""});
    if (row.by.empty()) continue;
    everything.push_back(decisions[i]);
    if (!setting) program.push_back(decisions[i]);
    if (!another) own.push_back(decisions[i]);
    if (!flag) without_flags.push_back(decisions[i]);
  }
  if (everything.empty()) return found;
  found.variants.push_back(variant_of("everything", everything, reply));
  const std::pair<const char*, Decisions> others[] = {
      {"without flags", without_flags}, {"program alone", program}, {"own forms alone", own}};
  for (const auto& [name, subset] : others) {
    const bool known = std::any_of(found.variants.begin(), found.variants.end(),
                                   [&](const JaxVariant& variant) { return variant.decisions == subset; });
    if (!subset.empty() && !known) found.variants.push_back(variant_of(name, subset, session.exported(subset)));
  }
  return found;
}

ExportDuel duel_in_jaxlib(tune::Session& session, const std::vector<JaxVariant>& variants, double budget_s,
                          bool quiet) {
  const int threads = session.target().threads;
  Progress progress("duel in jaxlib", {.budget_s = budget_s, .quiet = quiet});
  const TempDir work;
  Processes processes({.program = session.name(), .threads = threads}, write_inputs(session, work.path().string()));

  std::vector<Contender> contenders;
  std::vector<double> errors;
  const auto enter = [&](const JaxVariant& variant) {
    StockJax& stock = processes.with(variant.xla_flags);
    const std::string file = (work.path() / "program.mlir").string();
    write_file(file, variant.stablehlo);
    stock.open(variant.name, file, variant.compiler_options);
    const tune::Measurement judged = session.judge_outputs(stock.outputs(variant.name));
    if (!judged.ok() && variant.name != kOriginal)
      throw RunError("the exported program's outputs are not those of default XLA: " + judged.note, session.name(),
                     "nothing was written");
    errors.push_back(judged.max_error);
    contenders.push_back({variant.name, [&stock, name = variant.name](int runs) { return stock.run(name, runs); }});
  };
  enter(variant_of(kOriginal, {}, session.exported({})));  // with the limits of the target
  for (const JaxVariant& variant : variants) enter(variant);

  const TurnTimes times =
      run_in_turns(contenders, {.budget_s = budget_s, .progress = [&](int turns) { progress.update(turns); }});
  progress.finish();
  size_t fastest = 1;
  for (size_t i = 2; i < contenders.size(); ++i)
    if (speedup_of(times, 0, i).ratio > speedup_of(times, 0, fastest).ratio) fastest = i;
  return {.speedup = speedup_of(times, 0, fastest),
          .original_ns = times.least_ns[0],
          .exported_ns = times.least_ns[fastest],
          .turns = times.turns(),
          .cpu_time = threads == 1,
          .max_error = errors[fastest],
          .fastest = fastest - 1};
}

}  // namespace hone::request
