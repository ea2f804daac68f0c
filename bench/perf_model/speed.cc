// Speed of learned models on one core: ranking 10,000 options of a 40-node kernel, and training steps. Prints one JSON
// object a line. Kernels are random; speed.py measures the same networks in Python on kernels of the same sizes.
#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <torch/optim.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "learn/nets/losses.h"
#include "learn/nets/trained.h"
#include "tests/learn/synthetic.h"

using namespace hone;
using namespace hone::cost;
using namespace hone::learn;

namespace {

// CPU time of one thread, independent of other load on the machine.
double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Lowest and median time of `repeats` calls, ms.
template <class Work>
std::pair<double, double> time_of(int repeats, Work&& work) {
  std::vector<double> times;
  work();
  for (int i = 0; i < repeats; ++i) {
    const double from = now_ms();
    work();
    times.push_back(now_ms() - from);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

void print(const char* what, const std::string& model, std::pair<double, double> ms) {
  std::printf("{\"what\": \"%s\", \"model\": \"%s\", \"min_ms\": %.3f, \"median_ms\": %.3f, \"peak_mib\": %.0f}\n",
              what, model.c_str(), ms.first, ms.second, peak_mib());
  std::fflush(stdout);
}

learn::Trained untrained(const std::string& model, const cost::FeatureScale& scale, const char* loss) {
  learn::Trained trained;
  trained.options.name = model;
  trained.scale = scale;
  trained.loss = loss;
  trained.network = learn::make_network(trained.options, scale.widths(), 1);
  return trained;
}

void rank(const std::string& model, int64_t options, int repeats) {
  Rng rng(1);
  const learn::SyntheticKernel kernel = learn::synthetic_kernel(rng, 40, options);
  learn::Trained trained = untrained(model, learn::fitted_scale({kernel.view()}), "rank-hinge");
  print("rank", model, time_of(repeats, [&] { learn::predict_options(trained, kernel.view()); }));
}

// A training step as in hone train, including batch assembly and scaling.
void train(const std::string& model, int64_t kernels, int64_t options, int repeats) {
  Rng rng(2);
  std::vector<learn::SyntheticKernel> owned;
  for (int64_t i = 0; i < kernels; ++i) owned.push_back(learn::synthetic_kernel(rng, 40, options));
  const std::vector<KernelView> views = learn::views_of(owned);
  const bool tile = options > 1;
  const learn::Trained trained = untrained(model, learn::fitted_scale(views), tile ? "rank-hinge" : "mse");
  torch::optim::Adam adam(trained.network->parameters(), torch::optim::AdamOptions(1e-3));
  uint64_t step = 0;
  print(tile ? "train tile" : "train fusion", model, time_of(repeats, [&] {
          const auto batch = learn::batch_of(views, trained.scale);
          learn::Noise noise(++step);
          adam.zero_grad();
          const torch::Tensor y = trained.network->forward(*batch, noise);
          const torch::Tensor loss =
              tile ? learn::pairwise_rank_loss(y, batch->log_runtime, batch->per_option, learn::Phi::Hinge)
                   : learn::squared_error(y, batch->log_runtime);
          loss.backward();
          torch::nn::utils::clip_grad_norm_(trained.network->parameters(), 1.0);
          adam.step();
        }));
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const std::string only = argc > 1 ? argv[1] : "";
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 10;
  if (only.empty() || only == "rank") {
    rank("fast", 10000, repeats);
    rank("sage+column-wise", 100, repeats);
  }
  for (const char* model :
       {"sage+per-node", "sage+column-wise", "sage+lstm", "sage+transformer", "gat+column-wise", "fast"}) {
    if (!only.empty() && only != model) continue;
    train(model, 8, 32, repeats);
    train(model, 64, 1, repeats);
  }
}
