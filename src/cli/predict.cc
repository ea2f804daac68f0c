// hone predict PROGRAM: predicts run times of each kernel and of the whole program with trained models (by its code, too, or before it
// is compiled) or the analytical model, with --measure beside measured ones; or ranks the options of one kernel.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cost/ensemble.h"
#include "cost/kernel_ranker.h"
#include "cost/learn_library.h"
#include "cost/metrics.h"
#include "cost/program_time.h"
#include "cost/run_time_model.h"
#include "cost/shipped.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct PredictCommand {
  std::shared_ptr<OutputOptions> output;
  ProgramOptions program;
  std::string model_file, analytical, kernel, models;
  bool measure = false, tiles = false, before_compiling = false;
  int64_t top = 20;
};

// The given model, else the one that comes with hone, else the analytical one; for the program's own target.
std::unique_ptr<cost::LearnedModel> model_of(const PredictCommand& c, const tune::Target& target) {
  const features::Cpu cpu = features::this_cpu(target.threads, target.max_isa);
  if (!c.model_file.empty()) return cost::load_learned_model(c.model_file, cpu);
  if (c.analytical.empty() && !c.tiles)
    return cost::open_shipped_run_time_model(c.models, target.threads, target.max_isa);
  const std::string shipped = c.analytical.empty() ? cost::shipped_model("tile", c.models) : "";
  if (!shipped.empty()) try {
      return cost::load_learned_model(shipped, cpu);
    } catch (const Error& e) {
      spdlog::warn("predicting by the analytical model: {}", e.what());
    }
  return cost::analytical_member(c.analytical == "default" ? "" : c.analytical, "fusion", cpu);
}

// Whether --models has run times of its own, and none by code: then the shipped trees by code are not asked.
bool own_run_times(const std::string& models) {
  std::error_code none;
  const std::filesystem::path folder = models;
  return !models.empty() && std::filesystem::exists(folder / "fusion", none) &&
         !std::filesystem::exists(folder / "code", none);
}

// The trees that see a kernel's code, too, if they are wanted and there. They learnt from kernels of one thread.
std::optional<cost::OpenCodeModel> code_model_of(const PredictCommand& c, const tune::Target& target) {
  if (c.before_compiling || c.tiles || !c.model_file.empty() || !c.analytical.empty()) return std::nullopt;
  if (target.threads != 1 || own_run_times(c.models)) return std::nullopt;
  const std::string shipped = cost::shipped_model("code", c.models);
  if (shipped.empty()) return std::nullopt;
  try {
    return cost::open_code_model(shipped, target.max_isa);
  } catch (const Error& e) {
    spdlog::warn("predicting without the kernels' code: {}", e.what());
    return std::nullopt;
  }
}

// How much longer kernels take out of the caches, with one thread; nothing: they count as warm.
std::optional<cost::ColdModel> cold_model_of(const PredictCommand& c, const tune::Target& target) {
  const std::string shipped = cost::shipped_model("cold/seed-0.safetensors", c.models);
  if (c.tiles || target.threads != 1 || shipped.empty()) return std::nullopt;
  try {
    return cost::ColdModel::open(shipped, features::this_cpu(target.threads, target.max_isa));
  } catch (const Error& e) {
    spdlog::warn("predicting every kernel with its inputs in the caches: {}", e.what());
    return std::nullopt;
  }
}

class Predictor {
 public:
  Predictor(const PredictCommand& c, const tune::Target& target)
      : code_model_(code_model_of(c, target)),
        cold_model_(cold_model_of(c, target)),
        open_([&c, target] { return model_of(c, target); }) {}
  std::string name() {
    if (!code_model_) return model().name();
    return fmt::format("ensemble of {} that see the code{}", code_model_->model.members(),
                       code_model_->correction.helps ? ", corrected for this machine" : "");
  }
  bool compiles() const { return code_model_.has_value(); }
  // Of the default option, in ns, and whether its code was seen: without it where XLA cannot compile the kernel by itself.
  std::pair<double, bool> predict_default(tune::Session& session, const Kernel& kernel) {
    if (code_model_) {
      try {
        const cost::EncodedOptions encoded(kernel, {kernel.default_value()});
        return {code_model_->model.predict_ns(encoded.view(), session.compiled_code(kernel, "")), true};
      } catch (const wire::NoWorker&) {
        throw;
      } catch (const Error& e) {
        spdlog::debug("{}: predicted without its code: {}", kernel.name, e.what());
      }
    }
    return {predict(kernel, {kernel.default_value()})[0], false};
  }
  bool predicts_runtime() { return code_model_ || model().predicts_runtime(); }
  // Of the default option, from its warm run time: with its inputs out of the caches.
  double cold_ns(const Kernel& kernel, double warm_ns) const {
    return cold_model_ ? warm_ns * cold_model_->over_warm(cost::EncodedOptions(kernel, {kernel.default_value()}).view())
                       : warm_ns;
  }
  std::vector<double> predict(const Kernel& kernel, const std::vector<std::string>& options) {
    return model().predict(cost::EncodedOptions(kernel, options).view());
  }

 private:
  // Before compiling; beside trees that see the code few kernels need it.
  cost::LearnedModel& model() {
    if (!model_) model_ = open_();
    return *model_;
  }

  std::optional<cost::OpenCodeModel> code_model_;
  std::optional<cost::ColdModel> cold_model_;
  std::function<std::unique_ptr<cost::LearnedModel>()> open_;
  std::unique_ptr<cost::LearnedModel> model_;
};

Lowered predictable(tune::Session& session) {
  Lowered found = session.lower({}, /*want_fusion=*/false);
  std::erase_if(found.kernels, [](const Kernel& kernel) { return kernel.module.empty(); });
  if (found.kernels.empty()) throw Error("the program has no kernel that can be predicted", session.name());
  return found;
}

json number_or_null(double ns) { return ns > 0 ? json(ns) : json(); }

// 0 when the kernel could not be measured.
double measured_default(tune::Session& session, const Kernel& kernel) {
  const tune::Duel duel{.min_rounds = 6, .max_rounds = 16, .budget_ms = 80, .precision = 0.015, .limit_s = 20};
  const tune::Measurement m = session.measure_kernel(kernel, kernel.default_value(), duel);
  return m.ok() ? 0.5 * (m.baseline_ns + m.candidate_ns) : 0;
}

struct Errors {
  std::vector<double> predicted, measured;
  void add(double p, double m) {
    if (m > 0) predicted.push_back(p), measured.push_back(m);
  }
  void put(json& into) const {
    into["mape"] = measured.empty() ? json() : json(cost::mean_absolute_percentage_error(predicted, measured));
    into["kendall_tau"] = measured.empty() ? json() : json(cost::kendall_tau(predicted, measured));
  }
};

json predict_program(const PredictCommand& c, Predictor& predictor, tune::Session& session, const Lowered& program) {
  if (!predictor.predicts_runtime())
    throw Error("these weights rank options and predict no run times", c.model_file,
                "--kernel FINGERPRINT --tiles ranks, weights of hone train fusion predict run times");
  ProgressOptions shown;
  shown.quiet = c.output->quiet || !(c.measure || predictor.compiles());
  shown.total = static_cast<double>(program.kernels.size());
  Progress progress(c.measure ? "measuring" : "compiling", shown);
  json rows = json::array();
  Errors errors;
  double measured_sum = 0;
  int unmeasured = 0;
  std::vector<cost::KernelTime> times;
  for (const Kernel& k : program.kernels) {
    const auto [predicted, saw_code] = predictor.predict_default(session, k);
    times.push_back({predicted, predictor.cold_ns(k, predicted)});
    json row = {{"name", k.name}, {"fingerprint", k.fingerprint}, {"kind", k.kind},       {"count", k.count},
                {"runs", k.runs}, {"predicted_ns", predicted},    {"code_seen", saw_code}};
    row["predicted_cold_ns"] = times.back().cold_ns;
    if (c.measure) {
      const double measured = measured_default(session, k);
      row["measured_ns"] = number_or_null(measured);
      errors.add(predicted, measured);
      unmeasured += measured <= 0;
      measured_sum += measured * k.runs;
    }
    rows.push_back(row);
    progress.update(static_cast<double>(rows.size()), k.name);
  }
  const tune::Target& target = session.target();
  const cost::ProgramTime time = cost::program_time(program, times, features::this_cpu(target.threads, target.max_isa));
  json moved = json::array();
  for (const Moved& each : program.moved) moved.push_back({{"bytes", each.bytes}, {"runs", each.runs}});
  json result = {{"program", session.name()},
                 {"model", predictor.name()},
                 {"kernels", rows},
                 {"predicted_ns", time.ns},
                 {"predicted_warm_ns", time.warm_ns},
                 {"predicted_moved_ns", time.moved_ns},
                 {"moved", moved},
                 {"cold_share", time.cold_share},
                 {"working_set_bytes", time.working_set_bytes},
                 {"unknown_loops", program.unknown_loops}};
  if (!c.measure) return result;
  errors.put(result);
  result["kernels_measured_ns"] = measured_sum;
  result["unmeasured"] = unmeasured;
  const tune::Measurement whole =
      session.measure_program({}, {}, {.min_rounds = 5, .max_rounds = 30, .budget_ms = 1000, .precision = 0.01});
  result["measured_ns"] = number_or_null(whole.baseline_ns);
  return result;
}

const Kernel& kernel_named(const std::vector<Kernel>& kernels, const std::string& fingerprint) {
  for (const Kernel& k : kernels)
    if (k.fingerprint == fingerprint || k.name == fingerprint) return k;
  throw Error("the program has no such kernel", fingerprint, "hone predict PROGRAM lists them");
}

json predict_tiles(const PredictCommand& c, Predictor& predictor, tune::Session& session, const Kernel& k) {
  const std::vector<std::string>& options = k.dimension.options;
  const std::vector<double> predicted = predictor.predict(k, options);
  std::vector<size_t> order(options.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return predicted[a] < predicted[b]; });
  if (c.top > 0 && order.size() > static_cast<size_t>(c.top)) order.resize(c.top);
  // The default is always included, since the others are compared with it.
  const auto own = static_cast<size_t>(k.dimension.default_option);
  if (std::find(order.begin(), order.end(), own) == order.end()) order.push_back(own);
  const std::string field = predictor.predicts_runtime() ? "predicted_ns" : "score";
  const double default_ns = c.measure ? measured_default(session, k) : 0;
  if (c.measure && default_ns <= 0) throw RunError("the kernel cannot be measured", k.name);
  json rows = json::array();
  cost::RankedKernel ranked;
  for (size_t o : order) {
    json row = {{"choice", options[o]}, {field, predicted[o]}, {"default", o == own}};
    if (c.measure) {
      double measured = default_ns;
      if (o != own) {
        const tune::Duel duel{.min_rounds = 5, .max_rounds = 16, .budget_ms = 80, .limit_s = 20};
        const tune::Measurement m = session.measure_kernel(k, options[o], duel);
        measured = m.ok() && m.ratio > 0 ? default_ns / m.ratio : 0;
      }
      row["measured_ns"] = number_or_null(measured);
      if (measured > 0) ranked.predicted.push_back(predicted[o]), ranked.runtime_ns.push_back(measured);
    }
    rows.push_back(row);
  }
  json result = {{"program", session.name()},    {"model", predictor.name()}, {"kernel", k.name},
                 {"fingerprint", k.fingerprint}, {"options", options.size()}, {"choices", rows}};
  if (c.measure) {
    const std::vector<cost::RankedKernel> one = {ranked};
    result["ape_top1"] = cost::tile_size_ape(one, 1);
    result["ape_top10"] = cost::tile_size_ape(one, 10);
    result["kendall_tau"] = cost::kendall_tau(ranked.predicted, ranked.runtime_ns);
  }
  return result;
}

std::string shown_ns(const json& row, const char* field) {
  return row.contains(field) && row[field].is_number() ? human_ns(row[field]) : "-";
}

void print_program(const json& r) {
  fmt::print("{}, predicted by {}\n  {:<36} {:>6} {:>12} {:>12}  fingerprint\n", r["program"].get<std::string>(),
             r["model"].get<std::string>(), "kernel", "runs", "predicted", "measured");
  for (const json& k : r["kernels"])
    fmt::print("  {:<36.36} {:>6} {:>12} {:>12}  {}\n", k["name"].get<std::string>(), k["runs"].get<double>(),
               shown_ns(k, "predicted_ns"), shown_ns(k, "measured_ns"), k["fingerprint"].get<std::string>());
  fmt::print("  {:<36} {:>6} {:>12} {:>12}\n", "sum of kernels", "", shown_ns(r, "predicted_warm_ns"),
             shown_ns(r, "kernels_measured_ns"));
  if (r["predicted_moved_ns"] > 0)
    fmt::print("  {:<36} {:>6} {:>12}\n", "copies, sorts and calls of libraries", "",
               shown_ns(r, "predicted_moved_ns"));
  fmt::print("  {:<36} {:>6} {:>12} {:>12}\n", "whole program", "", shown_ns(r, "predicted_ns"),
             shown_ns(r, "measured_ns"));
  if (r["cold_share"] > 0)
    fmt::print("  {} pass through the caches between two uses of the same data: kernels run {:.0f} % cold\n",
               human_bytes(r["working_set_bytes"].get<double>()), 100 * r["cold_share"].get<double>());
  if (r["unknown_loops"] > 0)
    fmt::print("  XLA does not know how many steps {} takes: counted once\n",
               r["unknown_loops"] == 1 ? std::string("a loop")
                                       : fmt::format("each of {} loops", r["unknown_loops"].get<int>()));
  if (!r.contains("measured_ns")) return;
  if (r["mape"].is_number())
    fmt::print("  kernels: MAPE {:.1f} %, Kendall's tau {:.3f}\n", r["mape"].get<double>(),
               r["kendall_tau"].get<double>());
  if (r["unmeasured"] > 0) fmt::print("  {} kernels could not be measured\n", r["unmeasured"].get<int>());
}

void print_tiles(const json& r) {
  fmt::print("{}, {} options, ranked by {}\n", r["kernel"].get<std::string>(), r["options"].get<size_t>(),
             r["model"].get<std::string>());
  for (const json& k : r["choices"])
    fmt::print("  {:<36} {:>12} {:>12}{}\n", k["choice"].get<std::string>(),
               k.contains("score") ? fmt::format("{:.4g}", k["score"].get<double>()) : shown_ns(k, "predicted_ns"),
               shown_ns(k, "measured_ns"), k["default"] ? "  default" : "");
  if (r.contains("ape_top1"))
    fmt::print("  of those measured: APE {:.2f} %, of the top 10 {:.2f} %, Kendall's tau {:.3f}\n",
               r["ape_top1"].get<double>(), r["ape_top10"].get<double>(), r["kendall_tau"].get<double>());
}

int run_predict(const PredictCommand& c) {
  if (c.tiles == c.kernel.empty())
    throw Error("--kernel and --tiles go together", c.tiles ? "--tiles" : "--kernel",
                "hone predict PROGRAM lists kernels");
  if (!c.model_file.empty() && !c.analytical.empty())
    throw Error("only one model can be given", "--analytical", "leave out one of --model-file and --analytical");
  OpenedProgram opened = open_program(c.program);
  Predictor predictor(c, opened.session->target());
  const Lowered program = predictable(*opened.session);
  const json result = c.tiles ? predict_tiles(c, predictor, *opened.session, kernel_named(program.kernels, c.kernel))
                              : predict_program(c, predictor, *opened.session, program);
  if (c.output->json)
    print(result);
  else if (c.tiles)
    print_tiles(result);
  else
    print_program(result);
  return 0;
}

}  // namespace

Runner declare_predict(CLI::App& app) {
  const auto c = std::make_shared<PredictCommand>();
  app.add_option("PROGRAM", c->program.program,
                 "program, in any format that hone inspect reads; of a .hone package, as default XLA compiles it")
      ->required()
      ->type_name("");
  app.add_option(kModelFile, c->model_file,
                 "weights of hone train (safetensors), or a folder of them (default: those that come with hone)")
      ->type_name("FILE");
  app.add_option("--analytical", c->analytical,
                 "predict by the analytical model instead: the file of one fitted by hone eval --save, or default")
      ->type_name("FILE");
  add_models_option(app, c->models);
  app.add_flag("--before-compiling", c->before_compiling,
               "predict from HLO alone; else the program's kernels are compiled, and their code counts, too");
  app.add_flag("--measure", c->measure, "measure as well, and compare");
  app.add_option("--kernel", c->kernel, "fingerprint or name of one kernel, with --tiles");
  app.add_flag("--tiles", c->tiles, "rank the options of that kernel");
  app.add_option("--top", c->top, "number of options that are shown, the best first, 0 = all (default 20)")
      ->check(not_negative());
  app.add_option("--threads", c->program.threads, "threads of one run (default 1)");
  app.add_option("--seed", c->program.seed, "seed for generated inputs (default 0)");
  add_max_isa_option(app, c->program.max_isa);
  c->output = add_output_options(app);
  return [c] { return run_predict(*c); };
}

}  // namespace hone::cli
