#include "learn/train/trainer.h"

#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "data/event_file.h"
#include "learn/nets/losses.h"
#include "learn/train/adam.h"
#include "learn/train/checkpoint.h"
#include "learn/train/process.h"
#include "learn/train/sampler.h"

namespace hone::learn {

namespace {

// Independent random streams of one run.
enum Stream : uint64_t { kWeights = 1, kBatches = 2, kDropout = 3 };

Trained start(const std::vector<KernelView>& training, const options::TrainOptions& options,
              const std::string& command) {
  Trained trained;
  trained.options = options.model;
  trained.scale = cost::FeatureScale(options.model.demand);
  trained.task = options.task;
  trained.loss = options.loss;
  trained.command = command;
  trained.seed = options.seed;
  double sum = 0, squares = 0, count = 0;
  for (const KernelView& kernel : training) {
    trained.scale.fit(kernel);
    for (double ns : kernel.runtime_ns) {
      sum += std::log(ns);
      squares += std::log(ns) * std::log(ns);
      ++count;
    }
  }
  if (count == 0) throw Error("no kernels to train on", "data set");
  trained.log_mean = sum / count;
  const double variance = squares / count - trained.log_mean * trained.log_mean;
  trained.log_deviation = variance > 1e-12 ? std::sqrt(variance) : 1;
  trained.network = make_network(trained.options, trained.scale.widths(), mix_seed(options.seed, kWeights));
  return trained;
}

Trained copy_of(const Trained& trained) {
  Trained copy = trained;
  copy.network = make_network(trained.options, trained.scale.widths(), 0);
  copy.network->eval();
  return copy;
}

void copy_parameters(const Network& from, Network& to) {
  torch::NoGradGuard no_gradient;
  const auto source = from.parameters(), target = to.parameters();
  for (size_t i = 0; i < source.size(); ++i) target[i].copy_(source[i]);
}

cost::Evaluation evaluate(Trained& trained, const std::vector<KernelView>& kernels,
                          const options::TrainOptions& options) {
  std::vector<std::vector<double>> predicted;
  for (const KernelView& kernel : kernels) predicted.push_back(predict_options(trained, kernel));
  return cost::evaluate(kernels, predicted, !options.ranks(), {options.task, options.min_runtime_ns});
}

class Run {
 public:
  Run(const std::vector<KernelView>& training, const std::vector<KernelView>& validation,
      const options::TrainOptions& options, const TrainFiles& files)
      : options_(options),
        files_(files),
        sampler_(training,
                 {options.balance, options.kernels_per_step, options.options_per_kernel, options.ranks() ? 2 : 1}),
        validation_(cost::thin_out(validation, options.validation_kernels, options.validation_options, storage_)),
        current_(start(training, options, files.command)),
        best_(copy_of(current_)),
        optimizer_(current_.network->parameters(), torch::optim::AdamOptions(options.learning_rate)),
        exchange_(make_gloo_exchange(options)) {
    if (validation_.empty()) throw Error("no kernels to validate on", "data set");
    if (files.resume && !files.checkpoint.empty()) load_checkpoint(files.checkpoint, options_, state());
    if (!files.log_dir.empty() && options.rank == 0) events_ = std::make_unique<EventFile>(files.log_dir, wall_s());
  }

  TrainReport operator()(const std::function<bool()>& interrupted,
                         const std::function<void(int64_t, double, double)>& progress) {
    TrainReport report;
    const double begin_s = steady_s();
    double validating_s = 0;
    int64_t samples = 0;
    while (progress_.step < options_.steps) {
      if (interrupted()) {
        report.interrupted = true;
        break;
      }
      const double loss = step(samples);
      progress(progress_.step, loss, progress_.best_objective);
      if (progress_.step % options_.validate_every == 0 || progress_.step == options_.steps) {
        const double from_s = steady_s();
        validate(loss);
        validating_s += steady_s() - from_s;
        if (options_.patience > 0 && progress_.without_better >= options_.patience) {
          report.stopped_early = true;
          break;
        }
      }
      if (progress_.step % files_.checkpoint_every == 0) checkpoint();
    }
    report.seconds = steady_s() - begin_s;
    report.samples_per_s = static_cast<double>(samples) / std::max(report.seconds - validating_s, 1e-9);
    if (progress_.best_step < 0) validate(0);
    checkpoint();
    report.steps = progress_.step;
    report.best_step = progress_.best_step;
    report.best_objective = progress_.best_objective;
    report.validation = evaluate(best_, validation_, options_);
    report.best = best_;
    if (events_) report.event_file = events_->path();
    return report;
  }

 private:
  RunState state() { return {&current_, &best_, &optimizer_, &progress_}; }

  void checkpoint() {
    if (!files_.checkpoint.empty() && options_.rank == 0) save_checkpoint(files_.checkpoint, options_, state());
  }

  torch::Tensor loss_of(const torch::Tensor& predicted, const GraphBatch& batch) const {
    if (options_.loss == "mse")
      return squared_error(predicted, (batch.log_runtime - current_.log_mean) / current_.log_deviation);
    if (options_.loss == "ratio") return ratio_loss(predicted, batch.log_runtime, batch.per_option);
    const Phi phi = options_.loss == "rank-logistic" ? Phi::Logistic : Phi::Hinge;
    const auto weight = options_.loss == "rank-weighted" ? PairWeight::LogRatio : PairWeight::Equal;
    return pairwise_rank_loss(predicted, batch.log_runtime, batch.per_option, phi, weight);
  }

  double step(int64_t& samples) {
    current_.network->train();
    const auto rate = options_.learning_rate * std::pow(options_.decay, static_cast<double>(progress_.step) /
                                                                            static_cast<double>(options_.decay_steps));
    optimizer_.param_groups()[0].options().set_lr(rate);
    const auto batch = make_batch(sampler_.sample(mix_seed(options_.seed, kBatches), progress_.step, options_.rank),
                                  current_.scale, options_.model.neighbour_cap);
    Noise noise(mix_seed(mix_seed(options_.seed, kDropout), static_cast<uint64_t>(progress_.step),
                         static_cast<uint64_t>(options_.rank)));
    optimizer_.zero_grad();
    const torch::Tensor loss = loss_of(current_.network->forward(*batch, noise), *batch);
    loss.backward();
    if (exchange_) average(current_.network->parameters());
    optimizer_.clipped_step(options_.clip_norm);
    ++progress_.step;
    samples += batch->options() * options_.processes;
    const double value = loss.item<double>();
    if (!std::isfinite(value))
      throw Error("the loss is not finite after step " + std::to_string(progress_.step), "", "lower --learning-rate");
    if (events_ && (progress_.step % 100 == 0 || progress_.step == 1)) {
      events_->scalar(wall_s(), progress_.step, "train/loss", value);
      events_->scalar(wall_s(), progress_.step, "train/learning_rate", rate);
    }
    return value;
  }

  void average(const std::vector<torch::Tensor>& parameters) {
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : parameters) {
      if (!parameter.grad().defined()) parameter.mutable_grad() = torch::zeros_like(parameter);
      gradients.push_back(parameter.grad());
    }
    exchange_->average(gradients);
  }

  // Every process validates the same weights on the same kernels, so all decide alike without communication.
  void validate(double loss) {
    current_.network->eval();
    const cost::Evaluation evaluation = evaluate(current_, validation_, options_);
    const double objective = evaluation.objective(options_.task);
    ++progress_.without_better;
    if (progress_.best_step < 0 || objective < progress_.best_objective) {
      progress_.best_step = progress_.step;
      progress_.best_objective = objective;
      progress_.without_better = 0;
      copy_parameters(*current_.network, *best_.network);
    }
    if (!events_) return;
    const double now = wall_s();
    events_->scalar(now, progress_.step, "validation/ape_top1", evaluation.ape_top1);
    events_->scalar(now, progress_.step, "validation/ape_top10", evaluation.ape_top10);
    events_->scalar(now, progress_.step, "validation/mape", evaluation.mape);
    events_->scalar(now, progress_.step, "validation/kendall_tau", evaluation.tau);
    events_->scalar(now, progress_.step, "train/loss_at_validation", loss);
  }

  options::TrainOptions options_;
  TrainFiles files_;
  Sampler sampler_;
  cost::KernelStorage storage_;
  std::vector<KernelView> validation_;
  Trained current_, best_;
  FusedAdam optimizer_;
  std::unique_ptr<GradientExchange> exchange_;
  std::unique_ptr<EventFile> events_;
  Progress progress_;
};

}  // namespace

TrainReport train(const std::vector<KernelView>& training, const std::vector<KernelView>& validation,
                  options::TrainOptions options, const TrainFiles& files, const std::function<bool()>& interrupted,
                  const std::function<void(int64_t, double, double)>& progress) {
  options.settle();
  begin_training(options.threads);
  return Run(training, validation, options, files)(interrupted, progress);
}

}  // namespace hone::learn
