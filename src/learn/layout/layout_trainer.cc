#include "learn/layout/layout_trainer.h"

#include <torch/nn.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "cost/metrics.h"
#include "data/event_file.h"
#include "learn/layout/layout_losses.h"
#include "learn/nets/trained.h"
#include "learn/train/adam.h"
#include "learn/train/checkpoint.h"
#include "learn/train/process.h"
#include "learn/train/sampler.h"

namespace hone::learn {

namespace {

using options::LayoutPart;

constexpr const char* kCheckpointFormat = "hone-layout-checkpoint-1";
enum Stream : uint64_t { kWeights = 1, kBatches = 2, kDropout = 3 };  // independent random streams of one run

// Linear warm-up from 0 over the first share of the steps, then cosine decay to 0.
double rate_at(const options::LayoutTrainOptions& o, int64_t step) {
  const double warm = o.warmup * static_cast<double>(o.steps), at = static_cast<double>(step);
  if (at < warm) return o.learning_rate * (at + 1) / warm;
  const double done = (at - warm) / std::max(static_cast<double>(o.steps) - warm, 1.0);
  return o.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

// `count` different numbers below `from`, in random order.
std::vector<int64_t> draw(int64_t from, int64_t count, Rng& rng) {
  std::vector<int64_t> all(from);
  std::iota(all.begin(), all.end(), int64_t{0});
  count = std::min(count, from);
  for (int64_t i = 0; i < count; ++i) std::swap(all[i], all[i + rng.below(from - i)]);
  all.resize(count);
  return all;
}

void copy_parameters(const LayoutNetwork& from, LayoutNetwork& to) {
  torch::NoGradGuard no_gradient;
  const auto source = from.parameters(), target = to.parameters();
  for (size_t i = 0; i < source.size(); ++i) target[i].copy_(source[i]);
}

// What must be equal for a run to be resumed.
std::string identity(options::LayoutTrainOptions options, const std::vector<options::ConfigGraph>& graphs) {
  options.patience = 0;
  options.threads = 1;
  std::string text = to_json(options).dump();
  for (const options::ConfigGraph& graph : graphs)
    text += " " + graph.name + " " + std::to_string(graph.configurations());
  return text;
}

// The progress of a run: its state without weights and moments.
struct Standing {
  int64_t fold = 0, step = 0, best_step = -1, without_better = 0;
  double best_tau = 0;
  std::vector<FoldReport> done;
};

nlohmann::json standing_json(const Standing& s) {
  nlohmann::json done = nlohmann::json::array();
  for (const FoldReport& f : s.done) done.push_back({f.fold, f.steps, f.best_step, f.validation_tau, f.stopped_early});
  return {{"fold", s.fold},         {"step", s.step}, {"best_step", s.best_step}, {"without_better", s.without_better},
          {"best_tau", s.best_tau}, {"done", done}};
}

Standing standing_from(const nlohmann::json& json) {
  Standing s;
  json.at("fold").get_to(s.fold);
  json.at("step").get_to(s.step);
  json.at("best_step").get_to(s.best_step);
  json.at("without_better").get_to(s.without_better);
  json.at("best_tau").get_to(s.best_tau);
  for (const nlohmann::json& f : json.at("done"))
    s.done.push_back({f.at(0).get<int64_t>(), f.at(1).get<int64_t>(), f.at(2).get<int64_t>(), f.at(3).get<double>(),
                      f.at(4).get<bool>()});
  return s;
}

class Run {
 public:
  Run(const std::vector<options::ConfigGraph>& graphs, const options::LayoutTrainOptions& options,
      const LayoutTrainFiles& files)
      : graphs_(graphs), options_(options), files_(files), identity_(identity(options, graphs)) {
    folds_ = std::min(options.train_folds, options::folds_of(graphs, options.split));
    parts_ = options::split_layouts(graphs, options.split, 0);
    prepare();
    start_fold();
    if (files.resume && !files.checkpoint.empty()) load();
    if (!files.log_dir.empty()) events_ = std::make_unique<EventFile>(files.log_dir, wall_s());
  }

  LayoutTrainReport operator()(const std::function<bool()>& interrupted, const LayoutProgress& progress) {
    LayoutTrainReport report;
    count(report);
    const double begin_s = steady_s();
    while (standing_.fold < folds_) {
      if (interrupted()) {
        report.interrupted = true;
        break;
      }
      const double loss = step();
      progress(standing_.fold * options_.steps + standing_.step, standing_.fold, loss, standing_.best_tau);
      const bool last = standing_.step == options_.steps;
      if (standing_.step % options_.validate_every == 0 || last) validate();
      const bool tired = options_.patience > 0 && standing_.without_better >= options_.patience;
      if (last || tired) end_fold(tired && !last);
      if (standing_.step % files_.checkpoint_every == 0) save();
    }
    save();
    report.seconds = steady_s() - begin_s;
    report.configs_per_s = static_cast<double>(scored_) / std::max(report.seconds - validating_s_, 1e-9);
    if (standing_.fold < folds_ && (standing_.best_step >= 0 || members_.empty())) {  // an interrupted fold counts, too
      if (standing_.best_step < 0) validate();
      end_fold(false);
    }
    report.folds = standing_.done;
    report.trained = best_members();
    if (events_) report.event_file = events_->path();
    return report;
  }

 private:
  void prepare() {
    std::vector<options::ConfigGraph> used;  // of all folds, without the test part
    std::vector<int64_t> index;
    for (const auto* list : {&parts_.train, &parts_.validation})
      for (const LayoutPart& part : *list) {
        if (std::find(index.begin(), index.end(), part.graph) != index.end()) continue;
        index.push_back(part.graph);
        used.push_back(options_.model.prune ? options::prune(graphs_[part.graph]) : graphs_[part.graph]);
      }
    scale_ = NodeScale::fit(used);
    for (size_t i = 0; i < used.size(); ++i)
      inputs_[index[i]] = std::make_unique<LayoutInputs>(std::move(used[i]), scale_, neighbourhood_of(options_.model));
  }

  void count(LayoutTrainReport& report) const {
    for (const LayoutPart& part : parts_.train) {
      report.configurations += static_cast<int64_t>(part.configs.size());
      report.nodes += inputs_.at(part.graph)->graph.nodes();
    }
    report.graphs = static_cast<int64_t>(parts_.train.size());
  }

  void start_fold() {
    const uint64_t seed = mix_seed(options_.seed, kWeights, standing_.fold);
    current_ = make_layout_network(options_.model, seed);
    best_ = make_layout_network(options_.model, seed);
    best_->eval();
    optimizer_ = std::make_unique<FusedAdam>(current_->parameters(), torch::optim::AdamOptions(1e-3));
    if (standing_.fold > 0) parts_ = options::split_layouts(graphs_, options_.split, standing_.fold);
    standing_.step = standing_.without_better = 0;
    standing_.best_step = -1;
    standing_.best_tau = 0;
  }

  void end_fold(bool stopped_early) {
    standing_.done.push_back({standing_.fold, standing_.step, standing_.best_step, standing_.best_tau, stopped_early});
    members_.push_back(best_);
    if (++standing_.fold < folds_) start_fold();
  }

  double step() {
    Rng rng(mix_seed(mix_seed(options_.seed, kBatches, standing_.fold), standing_.step));
    const LayoutPart& part = parts_.train[rng.below(static_cast<int64_t>(parts_.train.size()))];
    std::vector<int32_t> configs, places;
    std::vector<double> runtime_ns;
    for (int64_t i : draw(static_cast<int64_t>(part.configs.size()), options_.configs_per_step, rng)) {
      places.push_back(static_cast<int32_t>(configs.size()));
      configs.push_back(part.configs[i]);
      runtime_ns.push_back(part.runtime_ns[i]);
    }
    const double rate = rate_at(options_, standing_.step);
    const double loss = descend(*inputs_.at(part.graph), configs, places, runtime_ns, rate);
    ++standing_.step;
    scored_ += static_cast<int64_t>(configs.size());
    if (!std::isfinite(loss))
      throw Error("the loss is not finite after step " + std::to_string(standing_.step), "", "lower --learning-rate");
    if (events_ && (standing_.step % 50 == 0 || standing_.step == 1)) {
      const std::string fold = "fold" + std::to_string(standing_.fold);
      events_->scalar(wall_s(), standing_.step, fold + "/loss", loss);
      events_->scalar(wall_s(), standing_.step, fold + "/learning_rate", rate);
    }
    return loss;
  }

  // One step of Adam with decoupled weight decay (Loshchilov and Hutter 2019), not on biases; returns the loss before.
  double descend(const LayoutInputs& inputs, const std::vector<int32_t>& configs, const std::vector<int32_t>& places,
                 const std::vector<double>& runtime_ns, double rate) {
    LayoutRows distinct(inputs);
    const std::vector<int32_t> rows = distinct.rows(configs);
    Noise noise(mix_seed(mix_seed(options_.seed, kDropout, standing_.fold), standing_.step));
    current_->train();
    optimizer_->zero_grad();
    const torch::Tensor table = current_->embed(inputs, distinct.nodes(), distinct.axes());
    const torch::Tensor scores = current_->score(inputs, table, distinct.index(rows, places), noise);
    const torch::Tensor loss = layout_loss(options_.loss, scores, runtime_ns);
    loss.backward();
    {
      torch::NoGradGuard no_gradient;
      for (auto& parameter : current_->named_parameters())
        if (!parameter.key().ends_with("bias")) parameter.value().mul_(1 - rate * options_.weight_decay);
    }
    static_cast<torch::optim::AdamOptions&>(optimizer_->param_groups()[0].options()).lr(rate);
    optimizer_->clipped_step(options_.clip_norm);
    return loss.item<double>();
  }

  void validate() {
    const double from_s = steady_s();
    current_->eval();
    double sum = 0;
    for (const LayoutPart& part : parts_.validation) {
      const size_t count = std::min<size_t>(part.configs.size(), options_.validation_configs);
      const std::span<const int32_t> configs(part.configs.data(), count);
      const std::vector<double> scores = predict_layouts(*current_, *inputs_.at(part.graph), configs, {});
      sum += cost::kendall_tau(scores, std::span<const double>(part.runtime_ns.data(), count));
    }
    const double tau = sum / static_cast<double>(parts_.validation.size());
    ++standing_.without_better;
    if (standing_.best_step < 0 || tau > standing_.best_tau) {
      standing_.best_step = standing_.step;
      standing_.best_tau = tau;
      standing_.without_better = 0;
      copy_parameters(*current_, *best_);
    }
    if (events_)
      events_->scalar(wall_s(), standing_.step, "fold" + std::to_string(standing_.fold) + "/kendall_tau", tau);
    validating_s_ += steady_s() - from_s;
  }

  TrainedLayouts best_members() const {
    TrainedLayouts trained{
        options_.model, scale_, options_.split, options_.loss, files_.command, options_.seed, {}, {}, {}};
    std::vector<size_t> order(members_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
      return standing_.done[i].validation_tau > standing_.done[j].validation_tau;
    });
    order.resize(std::min<size_t>(order.size(), options_.keep));
    for (size_t i : order) {
      trained.members.push_back(members_[i]);
      trained.validation_tau.push_back(standing_.done[i].validation_tau);
    }
    return trained;
  }

  void save() {
    if (files_.checkpoint.empty()) return;
    options::TensorFile file;
    file.metadata = {{"format", kCheckpointFormat}, {"run", identity_}, {"standing", standing_json(standing_).dump()}};
    put_parameters(*current_, "current.", file);
    put_parameters(*best_, "best.", file);
    for (size_t i = 0; i < members_.size(); ++i) put_parameters(*members_[i], "done" + std::to_string(i) + ".", file);
    put_optimizer(*optimizer_, *current_, file);
    options::write_safetensors(files_.checkpoint, file);
  }

  void load() {
    const std::string& path = files_.checkpoint;
    if (!std::filesystem::exists(path)) return;
    const options::TensorFile file = options::read_safetensors(path);
    const auto text = [&](const char* key) { return file.metadata.contains(key) ? file.metadata.at(key) : ""; };
    if (text("format") != kCheckpointFormat) throw Error("not a checkpoint written by hone", path);
    if (text("run") != identity_)
      throw Error("the checkpoint is from a run with other options or data", path,
                  "use the same ones or name another file");
    try {
      const Standing standing = standing_from(nlohmann::json::parse(text("standing")));
      standing_.fold = std::min(standing.fold, folds_ - 1);
      start_fold();
      standing_ = standing;
      take_parameters(file, "current.", *current_);
      take_parameters(file, "best.", *best_);
      take_optimizer(file, *current_, *optimizer_);
      for (size_t i = 0; i < standing_.done.size(); ++i) {
        members_.push_back(make_layout_network(options_.model, 0));
        take_parameters(file, "done" + std::to_string(i) + ".", *members_.back());
        members_.back()->eval();
      }
    } catch (const nlohmann::json::exception&) {
      throw Error("the checkpoint is damaged", path);
    } catch (const std::out_of_range&) {
      throw Error("the checkpoint is damaged", path);
    } catch (const Error& e) {
      throw Error(e.what(), path, e.hint());
    }
  }

  const std::vector<options::ConfigGraph>& graphs_;
  options::LayoutTrainOptions options_;
  LayoutTrainFiles files_;
  std::string identity_;
  int64_t folds_ = 0;
  options::LayoutParts parts_;
  NodeScale scale_;
  std::map<int64_t, std::unique_ptr<LayoutInputs>> inputs_;  // by graph
  std::shared_ptr<LayoutNetwork> current_, best_;
  std::unique_ptr<FusedAdam> optimizer_;
  std::vector<std::shared_ptr<LayoutNetwork>> members_;
  std::unique_ptr<EventFile> events_;
  Standing standing_;
  int64_t scored_ = 0;
  double validating_s_ = 0;
};

bool are_tiles(const std::vector<options::ConfigGraph>& graphs) {
  for (const options::ConfigGraph& graph : graphs)
    if (graph.is_tile() != graphs[0].is_tile())
      throw Error("layouts and tiles are ranked by different networks", graph.name,
                  "train on one collection at a time");
  return !graphs.empty() && graphs[0].is_tile();
}

LayoutTrainReport fit_rule(const std::vector<options::ConfigGraph>& graphs, const options::LayoutTrainOptions& options,
                           const LayoutTrainFiles& files) {
  LayoutTrainReport report;
  TrainedLayouts& trained = report.trained;
  trained.options = options.model;
  trained.split = options.split;
  trained.command = files.command;
  trained.seed = options.seed;
  const options::LayoutParts parts = options::split_layouts(graphs, options.split, 0);
  for (const LayoutPart& part : parts.train) {
    trained.rule.fit(graphs[part.graph], part.configs, part.runtime_ns);
    report.configurations += static_cast<int64_t>(part.configs.size());
  }
  report.graphs = static_cast<int64_t>(parts.train.size());
  return report;
}

}  // namespace

LayoutTrainReport train_layouts(const std::vector<options::ConfigGraph>& graphs,
                                const options::LayoutTrainOptions& options, const LayoutTrainFiles& files,
                                const std::function<bool()>& interrupted, const LayoutProgress& progress) {
  options::LayoutTrainOptions settled = options;
  settled.model.tiles = are_tiles(graphs);
  settled.validate();
  if (settled.model.name == "frequent") return fit_rule(graphs, settled, files);
  begin_training(settled.threads);
  return Run(graphs, settled, files)(interrupted, progress);
}

}  // namespace hone::learn
