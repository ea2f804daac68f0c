// How many kernels a second a model of kernels scores on one core, encoded kernels being in memory.
//
//   bench_scoring DATA_SET_FOLDER WEIGHTS                WEIGHTS: a file or a folder, as `hone eval --weights` takes them
//   bench_scoring DATA_SET_FOLDER WEIGHTS CODE_FOLDER    WEIGHTS: a folder of trees that see code; the objects are in memory, too
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
#include "base/xla_version.h"
#include "cost/code_model.h"
#include "cost/ensemble.h"
#include "cost/model_file.h"
#include "cost/tree_model.h"
#include "data/code_store.h"
#include "features/cpu.h"
#include "features/machine_record.h"

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

void time_code_model(const Dataset& data, const std::string& folder, const std::string& weights,
                     const std::string& code_folder) {
  constexpr size_t kMost = 4000;  // kernels, whose objects fit into memory
  const auto machine = features::read_machine_file(folder);
  if (!machine) throw Error("the data set does not say which machine it is of", folder);
  const cost::CodeModel model = cost::CodeModel::open(weights, machine->properties);
  CodeStore store(code_folder);
  std::vector<KernelView> kernels;
  std::vector<std::vector<std::string>> objects;
  for (int64_t i = 0; i < data.size() && kernels.size() < kMost; ++i) {
    const KernelView kernel = data.kernel(i);
    const auto code = store.find({std::string(kernel.fingerprint), "", machine->isa, kXlaVersion});
    if (!code || !code->compiled) continue;
    kernels.push_back(kernel);
    objects.push_back(code->objects);
  }
  if (kernels.empty()) throw Error("no code of the data set's kernels", code_folder, "bench_kernel_code collects it");
  size_t next = 0;
  time_rounds("scores with code", kernels, 1, [&](std::span<const KernelView> some) {
    return model.predict_ns(some[0], objects[next++ % objects.size()]);
  });
}

}  // namespace

int main(int count, char** values) try {
  if (count != 3 && count != 4) {
    std::fprintf(stderr, "bench_scoring DATA_SET_FOLDER WEIGHTS [CODE_FOLDER]\n");
    return 2;
  }
  const features::Cpu cpu = features::this_cpu(1);
  const Dataset data = Dataset::open(values[1]);
  const std::string weights = values[2];
  if (count == 4) {
    time_code_model(data, values[1], weights, values[3]);
    return 0;
  }
  const std::unique_ptr<cost::LearnedModel> model =
      std::filesystem::is_directory(weights) ? cost::open_ensemble(weights, cpu) : cost::open_model_file(weights, cpu);
  std::vector<KernelView> kernels;
  for (int64_t i = 0; i < data.size(); ++i) kernels.push_back(data.kernel(i));
  for (const size_t at_once : {1, 4, 64}) {
    time_rounds("features", kernels, at_once,
                [&](std::span<const KernelView> some) { return cost::kernel_rows(some, cpu).base_ns.back(); });
    time_rounds("scores", kernels, at_once,
                [&](std::span<const KernelView> some) { return model->predict_all(some).back()[0]; });
  }
  return 0;
} catch (const hone::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
