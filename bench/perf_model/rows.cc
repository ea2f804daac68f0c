// The rows of a data set of kernels as features for trees, in NumPy's format: what scripts/train_kernels.py trains on.
//
//   bench_kernel_rows DATA_SET_FOLDER OUTPUT.npz    for the machine that the data set names (machine.json), else for this one
//   bench_kernel_rows names                         the features' names, one a line
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "cost/kernel_features.h"
#include "data/dataset.h"
#include "data/npz.h"
#include "features/machine_record.h"

using namespace hone;

namespace {

template <class T>
NamedArray array_of(const char* name, const char* type, const std::vector<T>& values, std::vector<int64_t> dims) {
  NamedArray array{name, type, std::move(dims), {}};
  array.bytes.resize(values.size() * sizeof(T));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

// Fingerprints, programs, families and kinds, one line a kernel.
std::vector<uint8_t> line_of(const KernelView& kernel) {
  std::string line;
  for (const std::string_view part : {kernel.fingerprint, kernel.program, kernel.family, kernel.kind})
    line += std::string(part) + "\t";
  line.back() = '\n';
  return {line.begin(), line.end()};
}

void write_rows(const std::string& folder, const std::string& output, const features::Cpu& cpu) {
  const Dataset data = Dataset::open(folder);
  std::vector<float> rows;
  std::vector<double> times, estimates;
  std::vector<int32_t> kernels, defaults;
  std::vector<uint8_t> lines;
  for (int64_t i = 0; i < data.size(); ++i) {
    const KernelView kernel = data.kernel(i);
    const cost::KernelFeatures features(kernel, cpu);
    const size_t width = kernel.tiles.size() / kernel.options();
    for (int64_t o = 0; o < kernel.options(); ++o) {
      estimates.push_back(features.append(kernel.tiles.subspan(o * width, width), rows));
      times.push_back(kernel.runtime_ns[o]);
      kernels.push_back(static_cast<int32_t>(i));
      defaults.push_back(o == kernel.default_option);
    }
    const std::vector<uint8_t> line = line_of(kernel);
    lines.insert(lines.end(), line.begin(), line.end());
  }
  const auto count = static_cast<int64_t>(times.size());
  const NamedArray arrays[] = {
      array_of("features", "f32", rows, {count, static_cast<int64_t>(cost::kernel_feature_names().size())}),
      array_of("runtime_ns", "f64", times, {count}),
      array_of("analytical_ns", "f64", estimates, {count}),
      array_of("kernel", "s32", kernels, {count}),
      array_of("is_default", "s32", defaults, {count}),
      array_of("kernels", "u8", lines, {static_cast<int64_t>(lines.size())})};
  write_npz(output, arrays);
}

}  // namespace

int main(int count, char** values) try {
  if (count == 2 && std::string(values[1]) == "names") {
    for (const std::string& name : cost::kernel_feature_names()) std::printf("%s\n", name.c_str());
    return 0;
  }
  if (count != 3) {
    std::fprintf(stderr, "bench_kernel_rows DATA_SET_FOLDER OUTPUT.npz | names\n");
    return 2;
  }
  const auto machine = features::read_machine_file(values[1]);
  write_rows(values[1], values[2], machine ? machine->properties : features::this_cpu(1));
  return 0;
} catch (const hone::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
