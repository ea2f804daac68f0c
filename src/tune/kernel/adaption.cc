#include "tune/kernel/adaption.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "features/columns.h"
#include "tune/kernel/calibration.h"
#include "tune/kernel/kernel_moves.h"

namespace hone::tune {

namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<double>>;

constexpr std::array<const char*, 6> kTransitions = {"tiled to loop", "tiled to tiled", "loop to tiled", "loop to loop",
                                                     "dot",           "convolution"};
constexpr double kMostLogRatio = 2;    // larger ratios are clamped: seven times slower counts like a hundred
constexpr double kAlike = 0.02;        // logarithms of run times closer than this are noise
constexpr double kSureDeviations = 2;  // of the mean gain: accepted by chance once in forty
constexpr double kMarginPenalty = 1e-6;
constexpr size_t kRefitAfter = 8;                                       // new kernels, and at least this part of all
constexpr double kSizeScale = 10;                                       // logarithms of bytes and FLOPs reach 20
constexpr std::array<double, 5> kPenalties = {1e5, 1e4, 1e3, 100, 10};  // the largest of equally good ones is taken

double scaled(const features::Column& column, double value) {
  return column.scale == features::Scale::Log ? std::copysign(std::log1p(std::abs(value)), value) : value;
}

constexpr uint64_t kParts = 4;  // each held back in turn
uint64_t part_of(const AdaptionSample& sample) { return hash64(sample.kernel) % kParts; }

// Solves a x = b for symmetric positive definite a, [n][n], by Cholesky's decomposition in place.
std::vector<double> solved(Rows a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

std::vector<double> predictions(const RidgeHead& head, const Rows& features) {
  std::vector<double> values;
  for (const auto& row : features) values.push_back(head.predict(row));
  return values;
}

// Sums over options for a weighted least squares fit.
struct Moments {
  Rows gram;                  // lower triangle, [features][features]
  std::vector<double> right;  // [features]
  double total = 0;           // of the weights

  void add(const AdaptionSample& sample);
  void add(const Moments& other);
  RidgeHead head(double penalty) const;
};

void Moments::add(const AdaptionSample& sample) {
  const size_t n = sample.features.front().size();
  if (gram.empty()) gram.assign(n, std::vector<double>(n)), right.assign(n, 0);
  const double weight = 1 / std::sqrt(static_cast<double>(sample.features.size()));
  for (size_t row = 0; row < sample.features.size(); ++row) {
    const std::vector<double>& x = sample.features[row];
    const double y = std::clamp(sample.log_ratios[row], -kMostLogRatio, kMostLogRatio);
    total += weight;
    for (size_t i = 0; i < n; ++i) {
      if (x[i] == 0) continue;
      for (size_t j = 0; j <= i; ++j) gram[i][j] += weight * x[i] * x[j];
      right[i] += weight * x[i] * y;
    }
  }
}

void Moments::add(const Moments& other) {
  if (other.gram.empty()) return;
  if (gram.empty())
    gram.assign(other.right.size(), std::vector<double>(other.right.size())), right.assign(other.right.size(), 0);
  for (size_t i = 0; i < right.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) gram[i][j] += other.gram[i][j];
    right[i] += other.right[i];
  }
  total += other.total;
}

RidgeHead Moments::head(double penalty) const {
  Rows sums = gram;
  // The first feature, the shipped model's margin, has a small penalty: with few samples the head only scales that
  // model.
  for (size_t i = 0; i < right.size(); ++i)
    sums[i][i] += (i == 0 ? kMarginPenalty : 1) * penalty * (gram[i][i] / total + 1e-9);
  return {solved(std::move(sums), right)};
}

uint64_t third_of(const AdaptionSample& sample) { return hash64(sample.kernel) / kParts % 3; }

// A head with the penalty that orders best in cross-validation over thirds of the samples; with the largest penalty the
// head orders like the shipped model.
RidgeHead fitted_head(const std::vector<const AdaptionSample*>& samples) {
  std::array<Moments, 3> thirds;
  Moments all;
  for (const AdaptionSample* s : samples) thirds[third_of(*s)].add(*s);
  for (const Moments& third : thirds) all.add(third);
  std::array<double, kPenalties.size()> errors{};
  for (size_t out = 0; out < thirds.size(); ++out) {
    Moments in;
    for (size_t i = 0; i < thirds.size(); ++i)
      if (i != out) in.add(thirds[i]);
    if (in.gram.empty()) continue;
    for (size_t p = 0; p < kPenalties.size(); ++p) {
      const RidgeHead head = in.head(kPenalties[p]);
      for (const AdaptionSample* s : samples)
        if (third_of(*s) == out) errors[p] += order_error(predictions(head, s->features), s->log_ratios).value_or(0);
    }
  }
  return all.head(kPenalties[std::min_element(errors.begin(), errors.end()) - errors.begin()]);
}

// log(run time of the option with the best score / of the fastest), including the default with the score 0.
double regret(const std::vector<double>& scores, const std::vector<double>& log_ratios) {
  double best_score = 0, taken = 0, best = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] < best_score) {
      best_score = scores[i];
      taken = log_ratios[i];
    }
    best = std::min(best, log_ratios[i]);
  }
  return taken - best;
}

std::vector<double> negated(std::vector<double> values) {
  for (double& v : values) v = -v;
  return values;
}

// Sums over held-back kernels, each evaluated with a head that was fitted without it.
struct Judgement {
  std::vector<double> gains;  // of order_error
  double shipped_error = 0, adapted_error = 0, shipped_regret = 0, adapted_regret = 0, squares = 0, options = 0;

  void add(const AdaptionSample& s, const RidgeHead& head);
  void close(AdaptionReport& r) const;
};

void Judgement::add(const AdaptionSample& s, const RidgeHead& head) {
  const std::vector<double> shipped = negated(s.margins), adapted = predictions(head, s.features);
  const std::optional<double> before = order_error(shipped, s.log_ratios), after = order_error(adapted, s.log_ratios);
  if (!before || !after) return;
  gains.push_back(*before - *after);
  shipped_error += *before;
  adapted_error += *after;
  shipped_regret += regret(shipped, s.log_ratios);
  adapted_regret += regret(adapted, s.log_ratios);
  for (size_t i = 0; i < adapted.size(); ++i) {
    const double off = std::clamp(s.log_ratios[i], -kMostLogRatio, kMostLogRatio) - adapted[i];
    squares += off * off;
  }
  options += static_cast<double>(adapted.size());
}

void Judgement::close(AdaptionReport& r) const {
  const auto count = static_cast<double>(gains.size());
  r.held_back = static_cast<int>(gains.size());
  r.shipped_error = shipped_error / count;
  r.adapted_error = adapted_error / count;
  r.shipped_regret = shipped_regret / count;
  r.adapted_regret = adapted_regret / count;
  r.residual = std::sqrt(squares / options);
  const double mean = r.shipped_error - r.adapted_error;
  double variance = 0;
  for (double gain : gains) variance += (gain - mean) * (gain - mean) / (count - 1);
  r.sureness = variance > 0 ? mean / std::sqrt(variance / count) : mean > 0 ? kSureDeviations : 0;
  const bool orders_better = mean > 0 && r.sureness >= kSureDeviations;
  r.used = orders_better && r.adapted_regret <= r.shipped_regret;
  r.why = r.used          ? "orders held-back kernels better than the shipped model"
          : orders_better ? "its best ranked options of held-back kernels are no faster"
                          : "does not surely order held-back kernels better than the shipped model";
}

json to_json(const AdaptionSample& s, const std::string& model) {
  return {{"model", model},
          {"kernel", s.kernel},
          {"features", s.features},
          {"leads", s.margins},
          {"log_ratios", s.log_ratios}};
}

std::optional<AdaptionSample> sample_from(const json& line, const std::string& model) {
  try {
    if (line.at("model").get<std::string>() != model) return std::nullopt;
    AdaptionSample s{line.at("kernel"), line.at("features"), line.at("leads"), line.at("log_ratios")};
    const bool fits =
        !s.features.empty() && s.margins.size() == s.features.size() && s.log_ratios.size() == s.features.size();
    for (const auto& row : s.features)
      if (!fits || row.size() != s.features[0].size()) return std::nullopt;
    return fits ? std::optional(std::move(s)) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<double> margins_over_default(const cost::RankedScores& ranked, int default_option) {
  std::vector<double> margins;
  const double own = ranked.scores.at(default_option);
  for (double score : ranked.scores) margins.push_back(ranked.run_times ? std::log(own / score) : own - score);
  return margins;
}

Rows adaption_features(const KernelView& kernel, const cost::RankedScores& ranked, int default_option) {
  const auto& columns = features::tile_columns();
  const size_t width = columns.size();
  const auto at = std::find_if(columns.begin(), columns.end(), [](const auto& c) { return c.name == "tiled_emitter"; });
  const auto tiled_column = static_cast<size_t>(at - columns.begin());
  if (at == columns.end()) throw InternalError("there is no feature for tiled options");
  const std::vector<double> margins = margins_over_default(ranked, default_option);
  const auto feature = [&](size_t option, size_t column) {
    return scaled(columns[column], kernel.tiles[option * width + column]);
  };
  double size = 0, work = 0;  // bytes written; FLOPs per byte
  if (kernel.static_features.size() >= 3) {
    size = std::log1p(kernel.static_features[2]) / kSizeScale - 1;
    work = (std::log1p(kernel.static_features[0]) - std::log1p(kernel.static_features[2])) / kSizeScale;
  }
  const auto own = static_cast<size_t>(default_option);
  Rows rows;
  for (size_t option = 0; option < margins.size(); ++option) {
    const double margin = margins[option];
    std::vector<double> row = {margin, option == own || ranked.spreads.empty() ? 0 : ranked.spreads[option]};
    for (size_t c = 0; c < width; ++c)
      row.push_back(columns[c].name == "is_default" ? 0 : feature(option, c) - feature(own, c));
    const std::string change =
        transition(std::string(kernel.kind), feature(own, tiled_column) > 0, feature(option, tiled_column) > 0);
    for (const char* known : kTransitions) {
      const double is = option != own && change == known ? 1 : 0;
      row.insert(row.end(), {is, is * margin, is * size, is * work});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

double RidgeHead::predict(const std::vector<double>& features) const {
  if (features.size() != weights.size()) throw InternalError("the head has another number of features");
  return std::inner_product(features.begin(), features.end(), weights.begin(), 0.0);
}

RidgeHead fit_ridge(const std::vector<AdaptionSample>& samples, double penalty) {
  Moments all;
  for (const AdaptionSample& s : samples) all.add(s);
  if (all.gram.empty()) throw InternalError("there are no samples to fit the head");
  return all.head(penalty);
}

std::optional<double> order_error(const std::vector<double>& scores, const std::vector<double>& log_ratios) {
  double wrong = 0, all = 0;
  const auto pair = [&](double score, double time) {
    if (std::abs(time) < kAlike) return;
    all += std::abs(time);
    if (score == 0)
      wrong += std::abs(time) / 2;
    else if ((score > 0) != (time > 0))
      wrong += std::abs(time);
  };
  for (size_t i = 0; i < scores.size(); ++i) {
    pair(scores[i], log_ratios[i]);  // against the default
    for (size_t j = 0; j < i; ++j) pair(scores[i] - scores[j], log_ratios[i] - log_ratios[j]);
  }
  return all > 0 ? std::optional(wrong / all) : std::nullopt;
}

Adaption::Adaption(std::string path, std::string model) : path_(std::move(path)), model_(std::move(model)) {
  std::ifstream file(path_);
  for (std::string line; !path_.empty() && std::getline(file, line);)
    if (auto sample = sample_from(json::parse(shallow_json(line), nullptr, /*allow_exceptions=*/false), model_))
      keep(std::move(*sample));
  refit();
}

void Adaption::keep(AdaptionSample sample) {
  std::erase_if(samples_, [&](const AdaptionSample& s) {
    return s.kernel == sample.kernel || s.features.front().size() != sample.features.front().size();
  });
  samples_.push_back(std::move(sample));
  if (samples_.size() > kMostKernels) samples_.erase(samples_.begin());
}

void Adaption::add(AdaptionSample sample) {
  if (sample.features.empty()) return;
  if (!path_.empty()) {
    std::ofstream file(path_, std::ios::app);
    file << to_json(sample, model_).dump() + "\n";
    file.flush();
    if (!file) spdlog::warn("samples of this machine cannot be stored: {} cannot be written", path_);
  }
  keep(std::move(sample));
}

const AdaptionReport& Adaption::refit() {
  Judgement judgement;
  std::vector<const AdaptionSample*> all;
  for (const AdaptionSample& s : samples_) all.push_back(&s);
  report_ = {};
  report_.kernels = static_cast<int>(all.size());
  report_.why = "too few kernels were measured on this machine";
  if (all.size() < kLeast) return report_;
  for (uint64_t part = 0; part < kParts; ++part) {
    std::vector<const AdaptionSample*> fitted;
    for (const AdaptionSample* s : all)
      if (part_of(*s) != part) fitted.push_back(s);
    if (fitted.empty()) continue;
    const RidgeHead head = fitted_head(fitted);
    for (const AdaptionSample* s : all)
      if (part_of(*s) == part) judgement.add(*s, head);
  }
  if (judgement.gains.size() < kLeast) return report_;
  judgement.close(report_);
  head_ = fitted_head(all);
  return report_;
}

AdaptedRanker::AdaptedRanker(cost::KernelRanker& shipped, Adaption& adaption)
    : shipped_(shipped), adaption_(adaption) {}

std::string AdaptedRanker::name() const {
  return shipped_.name() + (adaption_.head() ? ", adapted to this machine" : "");
}

std::vector<double> AdaptedRanker::scores(const Kernel& kernel, const std::vector<std::string>& options) {
  return rank(kernel, options).scores;
}

cost::RankedScores AdaptedRanker::rank(const Kernel& kernel, const std::vector<std::string>& options) {
  cost::RankedScores ranked = shipped_.rank(kernel, options);
  const auto own = std::find(options.begin(), options.end(), kernel.default_value());
  if (!adaption_.head() || own == options.end()) return ranked;
  const cost::EncodedOptions encoded(kernel, options);
  const Rows rows = adaption_features(encoded.view(), ranked, static_cast<int>(own - options.begin()));
  if (!rows.empty() && rows.front().size() != adaption_.head()->weights.size()) return ranked;  // another version
  return {.scores = predictions(*adaption_.head(), rows),
          .spreads = std::vector<double>(options.size(), adaption_.report().residual),
          .log_ratios = true};
}

void AdaptedRanker::learn(const Kernel& kernel, const std::vector<std::pair<std::string, double>>& run_time_ratios) {
  std::vector<std::string> options = {kernel.default_value()};
  AdaptionSample sample{kernel.fingerprint, {}, {}, {}};
  for (const auto& [value, ratio] : run_time_ratios) {
    if (value == kernel.default_value() || !(ratio > 0) || !std::isfinite(ratio)) continue;
    options.push_back(value);
    sample.log_ratios.push_back(std::log(ratio));
  }
  if (options.size() < 2) return;
  try {
    const cost::RankedScores ranked = shipped_.rank(kernel, options);
    const cost::EncodedOptions encoded(kernel, options);
    sample.features = adaption_features(encoded.view(), ranked, 0);
    sample.margins = margins_over_default(ranked, 0);
  } catch (const Error& e) {
    spdlog::debug("nothing is learned from {}: {}", kernel.name, e.what());
    return;
  }
  sample.features.erase(sample.features.begin());
  sample.margins.erase(sample.margins.begin());
  adaption_.add(std::move(sample));
  if (++since_fit_ < std::max(kRefitAfter, adaption_.size() / kRefitAfter)) return;
  since_fit_ = 0;
  adaption_.refit();
}

}  // namespace hone::tune
