// How many kernels a second a model of kernels scores on one core, encoded kernels being in memory.
//
//   bench_scoring DATA_SET_FOLDER WEIGHTS    WEIGHTS: a file or a folder, as `hone eval --weights` takes them
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cost/ensemble.h"
#include "cost/model_file.h"
#include "cost/tree_model.h"
#include "features/cpu.h"

using namespace hone;

namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// `work` scores that many kernels at once, and returns a number that depends on all of them.
template <class Work>
void time_rounds(const std::string& what, const std::vector<KernelView>& kernels, size_t at_once, Work&& work) {
  constexpr int kRounds = 3;
  double best = 1e300, sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = cpu_seconds();
    for (size_t first = 0; first < kernels.size(); first += at_once)
      sum += work(std::span(kernels).subspan(first, std::min(at_once, kernels.size() - first)));
    best = std::min(best, cpu_seconds() - begin);
  }
  std::printf("%s, %zu at once: %.0f kernels a second (%zu kernels, best of %d, sum %.6g)\n", what.c_str(), at_once,
              static_cast<double>(kernels.size()) / best, kernels.size(), kRounds, sum);
}

}  // namespace

int main(int count, char** values) try {
  if (count != 3) {
    std::fprintf(stderr, "bench_scoring DATA_SET_FOLDER WEIGHTS\n");
    return 2;
  }
  const features::Cpu cpu = features::this_cpu(1);
  const Dataset data = Dataset::open(values[1]);
  const std::string weights = values[2];
  const std::unique_ptr<cost::LearnedModel> model =
      std::filesystem::is_directory(weights) ? cost::open_ensemble(weights, cpu) : cost::open_model_file(weights, cpu);
  std::vector<KernelView> kernels;
  for (int64_t i = 0; i < data.size(); ++i) kernels.push_back(data.kernel(i));
  for (const size_t at_once : {1, 4, 64}) {
    time_rounds("features", kernels, at_once,
                [&](std::span<const KernelView> some) { return cost::kernel_rows(some, cpu).analytical_ns.back(); });
    time_rounds("scores", kernels, at_once,
                [&](std::span<const KernelView> some) { return model->predict_all(some).back()[0]; });
  }
  return 0;
} catch (const hone::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
