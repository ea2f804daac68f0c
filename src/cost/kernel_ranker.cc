#include "cost/kernel_ranker.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "cost/ensemble.h"
#include "cost/learn_library.h"
#include "cost/shipped.h"
#include "features/encode.h"
#include "graph/hlo_reader.h"

namespace hone::cost {

namespace {

class ModelRanker : public KernelRanker {
 public:
  explicit ModelRanker(std::unique_ptr<LearnedModel> model) : model_(std::move(model)) {}
  std::string name() const override { return model_->name(); }
  bool predicts_runtime() const override { return model_->predicts_runtime(); }
  std::vector<double> scores(const Kernel& kernel, const std::vector<std::string>& options) override {
    return model_->predict(EncodedOptions(kernel, options).view());
  }
  RankedScores rank(const Kernel& kernel, const std::vector<std::string>& options) override {
    auto* ensemble = dynamic_cast<EnsembleModel*>(model_.get());
    if (!ensemble || ensemble->predicts_runtime()) return KernelRanker::rank(kernel, options);
    const EncodedOptions encoded(kernel, options);
    const std::vector<std::vector<double>> members = ensemble->member_scores(encoded.view());
    RankedScores ranked{.log_ratios = ensemble->predicts_ratios()};
    for (size_t i = 0; i < options.size(); ++i) {
      double sum = 0, squares = 0;
      for (const std::vector<double>& scores : members) sum += scores.at(i);
      const double mean = sum / static_cast<double>(members.size());
      for (const std::vector<double>& scores : members) squares += (scores[i] - mean) * (scores[i] - mean);
      ranked.scores.push_back(mean);
      ranked.spreads.push_back(std::sqrt(squares / static_cast<double>(members.size())));
    }
    return ranked;
  }

 private:
  std::unique_ptr<LearnedModel> model_;
};

}  // namespace

EncodedOptions::EncodedOptions(const Kernel& kernel, const std::vector<std::string>& options)
    : fingerprint_(kernel.fingerprint), kind_(kernel.kind), unknown_(options.size(), 1) {
  if (kernel.module.empty()) throw Error("a kernel without its module cannot be encoded", kernel.name);
  const HloGraph module = read_hlo_graph(kernel.module);
  encoded_ = features::encode_kernel(module, {.flops = kernel.flops,
                                              .bytes_read = kernel.bytes_read,
                                              .bytes_written = kernel.bytes_written,
                                              .special_functions = kernel.transcendentals});
  const Shape output = features::kernel_output(module);
  for (const std::string& option : options) {
    const features::EncodedTile tile =
        features::encode_option(output, option, option == kernel.default_value(), kernel.default_tile, kernel.kind);
    tiles_.insert(tiles_.end(), tile.begin(), tile.end());
  }
  view_.fingerprint = fingerprint_;
  view_.kind = kind_;
  view_.opcodes = encoded_.opcodes;
  view_.node_features = encoded_.node_features;
  view_.static_features = encoded_.static_features;
  view_.edge_from = encoded_.edge_from;
  view_.edge_to = encoded_.edge_to;
  view_.tiles = tiles_;
  view_.runtime_ns = unknown_;
}

std::string shipped_tile_weights(const std::string& models) { return shipped_model("tile", models); }

std::unique_ptr<KernelRanker> learned_ranker(const std::string& weights_path, const features::Cpu& cpu) {
  return std::make_unique<ModelRanker>(load_learned_model(weights_path, cpu));
}

std::unique_ptr<KernelRanker> analytical_ranker(const std::string& path, const features::Cpu& cpu) {
  return std::make_unique<ModelRanker>(analytical_member(path, "tile", cpu));
}

std::optional<RankedScores> ranked_or_nothing(const Kernel& kernel, KernelRanker& ranker) {
  try {
    return ranker.rank(kernel, kernel.dimension.options);
  } catch (const Error& e) {
    spdlog::debug("{} is searched without the ranker {}: {}", kernel.name, ranker.name(), e.what());
    return std::nullopt;
  }
}

std::vector<int> ranked_options(const Kernel& kernel, const RankedScores& ranked) {
  const std::vector<double>& scores = ranked.scores;
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase(order, kernel.dimension.default_option);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] < scores[b]; });
  return order;
}

}  // namespace hone::cost
