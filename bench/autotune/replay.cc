// The kernel tuner on kernels that were measured before: measurements come from the rows of a database, so that methods
// of choosing the next option are compared on the same numbers in seconds. Only measured options exist.
//
//   ninja -C build bench_replay
//   build/bench_replay build/data/kernels.db data/splits/random.txt test [--fit | slope=0.4 ... | loops=2 | tiled=5]
//
// Prints, for several numbers of measurements per kernel, the geometric mean over kernels of default over found run
// time: by score, by expected improvement, with the shipped winners (of training programs) first, with the winners of similar
// kernels in the validation programs first (for these, in the test programs), and after adaption to the same measurements. --fit prints instead the statistics for
// the constants of BeliefOptions; loops=2 simulates a machine whose plain loops are half as fast;
// tiled=5 takes only kernels for which XLA itself chooses a tile and which take 5 us or more.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/stats.h"
#include "cost/shipped.h"
#include "data/database.h"
#include "data/dataset.h"
#include "tune/kernel/adaption.h"
#include "tune/kernel/kernel_tuner.h"
#include "tune/kernel/transfer.h"

namespace {

using namespace hone;
using namespace hone::tune;

struct Measured {
  Kernel kernel;
  std::string program;
  std::map<std::string, tune::Measurement> by_value;
};

class Replay : public tune::Measurer {
 public:
  explicit Replay(const Measured& measured) : measured_(measured) {}
  Lowered lower(const Decisions&, bool) override { return {}; }
  tune::Measurement measure_kernel(const Kernel&, const std::string& value, const tune::Duel& duel) override {
    count += duel.max_rounds == tune::KernelOptions{}.quick.max_rounds;
    return measured_.by_value.at(value);
  }
  tune::Measurement measure_program(const Decisions&, const Decisions&, const tune::Duel&) override { return {}; }
  tune::KnownKernel known(const Kernel&) override { return {}; }
  void remember(const Kernel&, const tune::KnownKernel::Best&) override {}
  std::map<std::string, double> instruction_times(const Decisions&, int) override { return {}; }
  double seconds_left() const override { return 1e9; }
  void fresh_process() override {}
  void begin_confirmation() override {}
  int count = 0;

 private:
  const Measured& measured_;
};

// Calls the model once per kernel.
class Remembering : public cost::KernelRanker {
 public:
  explicit Remembering(cost::KernelRanker& ranker) : ranker_(ranker) {}
  std::string name() const override { return ranker_.name(); }
  std::vector<double> scores(const Kernel& k, const std::vector<std::string>& o) override { return rank(k, o).scores; }
  cost::RankedScores rank(const Kernel& kernel, const std::vector<std::string>& options) override {
    const auto key = std::pair(kernel.fingerprint, options);
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_[key] = ranker_.rank(kernel, options);
  }

 private:
  cost::KernelRanker& ranker_;
  std::map<std::pair<std::string, std::vector<std::string>>, cost::RankedScores> known_;
};

std::vector<Measured> kernels_of(const Database& database, const MeasuredUnder& under,
                                 const std::vector<std::string>& programs) {
  std::vector<Measured> all;
  for (const std::string& program : programs)
    for (const StoredKernelSummary& summary : database.stored_kernels(under.threads, program)) {
      Measured m;
      m.program = program;
      for (const Record& row :
           database.find_kernel(summary.fingerprint, under.host, under.threads, under.xla_version)) {
        tune::Measurement x{.outcome = tune::outcome_from_name(row.status)};
        x.baseline_ns = row.baseline_ns;
        x.candidate_ns = row.candidate_ns;
        x.ratio = row.ratio;
        x.ratio_low = row.ratio_low;
        x.ratio_high = row.ratio_high;
        x.rounds = row.rounds;
        m.by_value[row.decisions] = x;
      }
      const StoredKernel stored = database.find_stored_kernel(summary.fingerprint, under.threads).value();
      const std::string own = stored.options.at(stored.default_option);
      Kernel& k = m.kernel;
      k.fingerprint = stored.fingerprint;
      k.name = stored.name;
      k.kind = stored.kind;
      k.flops = stored.flops;
      k.bytes_read = stored.bytes_read;
      k.bytes_written = stored.bytes_written;
      k.transcendentals = stored.transcendentals;
      k.module = stored.module_proto;
      k.default_tile = stored.default_tile;
      k.dimension = {decision_kind_from_name(stored.decision), stored.fingerprint, {own}, 0, 0};
      for (const std::string& value : stored.options)
        if (value != own && m.by_value.contains(value)) k.dimension.options.push_back(value);
      if (k.dimension.options.size() > 2) all.push_back(std::move(m));
    }
  return all;
}

double exhaustive(const Measured& m) {
  double best = 1;
  for (const std::string& value : m.kernel.dimension.options)
    if (const auto found = m.by_value.find(value);
        value != m.kernel.default_value() && found != m.by_value.end() && found->second.ok())
      best = std::max(best, found->second.ratio);
  return best;
}

// "slope=0.4" and so on: another prior.
void set(BeliefOptions& belief, const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::map<std::string, double*> members = {
      {"slope", &belief.slope},         {"slope_deviation", &belief.slope_deviation},
      {"deviation", &belief.deviation}, {"per_spread", &belief.per_spread},
      {"length", &belief.length},       {"noise", &belief.noise}};
  if (const auto member = members.find(text.substr(0, equals)); member != members.end())
    *member->second = std::stod(text.substr(equals + 1));
}

// Simulates another machine: plain loops take `loops` times as long as here.
void shift(std::vector<Measured>& kernels, double loops) {
  for (Measured& m : kernels) {
    const bool own = m.kernel.default_tile.empty() && m.kernel.kind == "fusion";
    for (auto& [value, x] : m.by_value) {
      const bool loop = value.rfind("loop", 0) == 0 || (value == m.kernel.default_value() && own);
      const double factor = (own ? loops : 1) / (loop ? loops : 1);
      for (double* ratio : {&x.ratio, &x.ratio_low, &x.ratio_high}) *ratio *= factor;
    }
  }
}

struct Way {
  std::string name;
  cost::KernelRanker* ranker = nullptr;
  bool by_expectation = false;
  const tune::Transfer* transfer = nullptr;
};

void compare(const std::vector<Measured>& kernels, const std::vector<Way>& ways, const tune::KernelOptions& beliefs) {
  fmt::print("| measurements of a kernel |");
  for (const Way& way : ways) fmt::print(" {} |", way.name);
  fmt::print(" all options |\n| ---: |");
  for (size_t i = 0; i <= ways.size(); ++i) fmt::print(" ---: |");
  std::vector<double> limits;
  for (const Measured& m : kernels) limits.push_back(exhaustive(m));
  for (int k : {1, 2, 3, 5, 10, 0}) {
    fmt::print("\n| {} |", k > 0 ? "at most " + std::to_string(k) : "until none is worth it");
    for (const Way& way : ways) {
      tune::KernelOptions options = beliefs;
      options.ranker = way.ranker;
      options.by_expectation = way.by_expectation;
      options.top_k = k;
      if (way.transfer) options.first = [&](const Kernel& kernel) { return way.transfer->options(kernel); };
      std::vector<double> gains;
      int64_t count = 0;
      for (const Measured& m : kernels) {
        Replay measurer(m);
        Rng rng(0);
        double best = 1;
        options.on_searched = [&](const Kernel&, const tune::KernelReport&, const std::vector<tune::Tried>& all) {
          for (const tune::Tried& t : all)
            if (t.measurement.ok()) best = std::max(best, t.measurement.ratio);
        };
        tune::tune_kernel(m.kernel, measurer, 1e6, options, rng);
        gains.push_back(best);
        count += measurer.count;
      }
      fmt::print(" {:.4f} ({:.1f}) |", geometric_mean(gains), static_cast<double>(count) / kernels.size());
    }
    fmt::print(" {:.4f} |", geometric_mean(limits));
  }
  fmt::print("\n");
}

// Slopes of log ratio over score, and residuals by the spread of the members.
void fit(const std::vector<Measured>& kernels, cost::KernelRanker& ranker) {
  std::vector<double> slopes;
  std::map<int, std::vector<double>> left;
  for (const Measured& m : kernels) {
    const cost::RankedScores ranked = ranker.rank(m.kernel, m.kernel.dimension.options);
    double xy = 0, xx = 0;
    std::vector<std::array<double, 3>> rows;
    for (size_t i = 1; i < ranked.scores.size(); ++i) {
      const tune::Measurement& x = m.by_value.at(m.kernel.dimension.options[i]);
      if (!x.ok()) continue;
      const double lead = ranked.scores[i] - ranked.scores[0], y = -std::log(x.ratio);
      rows.push_back({lead, y, ranked.spreads.empty() ? 0 : ranked.spreads[i]});
      xy += lead * y;
      xx += lead * lead;
    }
    if (xx <= 0) continue;
    slopes.push_back(xy / xx);
    for (const auto& [lead, y, spread] : rows)
      left[static_cast<int>(4 * spread)].push_back(std::abs(y - xy / xx * lead));
  }
  fmt::print("slope: 10 % {:.3f}, 25 % {:.3f}, median {:.3f}, 75 % {:.3f}, 90 % {:.3f}\n", quantile(slopes, 0.1),
             quantile(slopes, 0.25), quantile(slopes, 0.5), quantile(slopes, 0.75), quantile(slopes, 0.9));
  for (const auto& [bin, values] : left)
    fmt::print("spread {:.2f} to {:.2f}: {} options, |rest| median {:.3f}, 68 % {:.3f}, 90 % {:.3f}\n", bin / 4.0,
               (bin + 1) / 4.0, values.size(), quantile(values, 0.5), quantile(values, 0.68), quantile(values, 0.9));
}

// Stores the results of tuning these kernels: their winners, and the ratio of each option over the default.
void remember(const std::vector<Measured>& known, tune::Transfer& transfer, tune::AdaptedRanker& adapted) {
  for (const Measured& m : known) {
    std::string best = m.kernel.default_value();
    tune::Measurement winner{
        .baseline_ns = 1, .candidate_ns = 1, .ratio = 1, .ratio_low = 1, .ratio_high = 1, .rounds = 1};
    std::vector<std::pair<std::string, double>> ratios;
    for (const auto& [value, x] : m.by_value) {
      if (!x.ok()) continue;
      ratios.emplace_back(value, 1 / x.ratio);
      if (x.ratio > winner.ratio && x.ratio_low > 1) {
        best = value;
        winner = x;
      }
    }
    transfer.remember(m.kernel, best, winner);
    adapted.learn(m.kernel, ratios);
  }
}

void print_adaption(const tune::AdaptionReport& a) {
  fmt::print(
      "adaption: {} kernels, {} of them judged; order error {:.4f} shipped, {:.4f} adapted; regret {:.4f}, "
      "{:.4f}; {:.2f} standard errors, residual {:.3f}; {}\n",
      a.kernels, a.held_back, a.shipped_error, a.adapted_error, a.shipped_regret, a.adapted_regret, a.sureness,
      a.residual, a.why);
}

Record training_under(const MeasuredUnder& under) {
  Record conditions;
  conditions.program = "training";
  conditions.host = under.host;
  conditions.threads = under.threads;
  conditions.xla_version = under.xla_version;
  return conditions;
}

// The winners of data/known.db on a machine that has measured nothing.
struct ShippedWinners {
  ShippedWinners(const TempDir& folder, const MeasuredUnder& under)
      : known(Database::open(path(), {.read_only = true})),
        nothing(Database::open((folder.path() / "nothing.db").string())),
        transfer(nothing, training_under(under), &known, tune::machine_class("avx512")) {}

  static std::string path() {
    const std::string path = cost::shipped_file("known.db");
    if (path.empty()) throw Error("there are no shipped winners", "data/known.db", "make known");
    return path;
  }

  Database known, nothing;
  tune::Transfer transfer;
};

int64_t with_winner(const std::vector<Measured>& kernels, const tune::Transfer& transfer) {
  return std::count_if(kernels.begin(), kernels.end(),
                       [&](const Measured& m) { return !transfer.options(m.kernel).empty(); });
}

int replay(int argc, char** argv) {
  if (argc < 4) return fmt::print("bench_replay DATABASE SPLIT validation|test|train [--fit]\n"), 2;
  const Database database = Database::open(argv[1], {.read_only = true});
  const Split split = Split::read(argv[2]);
  const MeasuredUnder under = database.measured_under().at(0);
  const std::string part = argv[3];
  const auto& programs = part == "test" ? split.test : part == "validation" ? split.validation : split.train;
  double loops = 1, tiled_us = -1;
  for (int i = 4; i < argc; ++i) {
    if (std::strncmp(argv[i], "loops=", 6) == 0) loops = std::stod(argv[i] + 6);
    if (std::strncmp(argv[i], "tiled=", 6) == 0) tiled_us = std::stod(argv[i] + 6);
  }
  std::vector<Measured> kernels = kernels_of(database, under, programs);
  if (tiled_us >= 0)
    std::erase_if(kernels, [&](const Measured& m) {
      return m.kernel.default_tile.empty() || m.by_value.empty() ||
             m.by_value.begin()->second.baseline_ns < 1e3 * tiled_us;
    });
  shift(kernels, loops);
  fmt::print("{} kernels{} of {} {} programs with three measured options and more, {}\n\n", kernels.size(),
             tiled_us >= 0 ? fmt::format(" that XLA tiles, of {} us and more,", tiled_us) : "", programs.size(), part,
             under.host);
  const auto shipped = cost::learned_ranker(cost::shipped_model("tile"));
  Remembering ranker(*shipped);
  if (argc > 4 && std::strcmp(argv[4], "--fit") == 0) return fit(kernels, ranker), 0;

  tune::KernelOptions beliefs;
  for (int i = 4; i < argc; ++i)
    for (BeliefOptions* belief : {&beliefs.belief, &beliefs.ratio_belief}) set(*belief, argv[i]);

  const TempDir folder;
  Database memory = Database::open((folder.path() / "memory.db").string());
  tune::Transfer transfer(memory, training_under(under));
  tune::Adaption adaption("", "");
  tune::AdaptedRanker adapted(ranker, adaption);
  // From programs that were not used in training, like new programs on a machine; for validation, from the test part.
  const auto& learned_from = part == "validation" ? split.test : split.validation;
  if (part != "train") {
    std::vector<Measured> known = kernels_of(database, under, learned_from);
    shift(known, loops);
    remember(known, transfer, adapted);
  }
  print_adaption(adaption.refit());
  fmt::print("{} kernels have a winner among similar ones\n\n", with_winner(kernels, transfer));
  Remembering adapted_once(adapted);
  const ShippedWinners shipped_winners(folder, under);
  fmt::print("{} have one among the shipped winners\n\n", with_winner(kernels, shipped_winners.transfer));
  compare(kernels,
          {{"by score", &ranker},
           {"by expectation", &ranker, true},
           {"shipped winners, then by score", &ranker, false, &shipped_winners.transfer},
           {"shipped winners, then by expectation", &ranker, true, &shipped_winners.transfer},
           {"transferred, then by score", &ranker, false, &transfer},
           {"transferred, then by expectation", &ranker, true, &transfer},
           {"adapted, by score", &adapted_once},
           {"adapted, by expectation", &adapted_once, true},
           {"adapted, transferred, by expectation", &adapted_once, true, &transfer}},
          beliefs);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return replay(argc, argv);
  } catch (const Error& e) {
    fmt::print(stderr, "bench_replay: {}: {}\n", e.where(), e.what());
    return 2;
  }
}
