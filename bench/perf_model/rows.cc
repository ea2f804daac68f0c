// The rows of a data set of kernels as features for trees, in NumPy's format: what scripts/train_kernels.py trains on.
//
//   bench_kernel_rows DATA_SET_FOLDER OUTPUT.npz    for the machine that the data set names (machine.json), else for this one
//   bench_kernel_rows DATA_SET_FOLDER OUTPUT.npz CODE_FOLDER DATABASE
//                                                   and what bench_kernel_code kept there of options compiled for the machine's
//                                                   instruction set, as features (features/code_features.def)
//   bench_kernel_rows names [code|work|kernel-work] the features' names, or the terms of a kernel's work, by its code or by HLO, one a line
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "base/xla_version.h"
#include "bench/perf_model/measured_options.h"
#include "cost/kernel_features.h"
#include "cost/work_model.h"
#include "data/code_store.h"
#include "data/dataset.h"
#include "data/npz.h"
#include "features/code_features.h"
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

// Features of the code of options; zeros, and no code, for what was not collected.
class CodeRows {
 public:
  CodeRows(const std::string& folder, const std::string& database, const features::MachineRecord& machine)
      : store_(folder), database_(Database::open(database, {.read_only = true})), machine_(machine) {}

  void add(const KernelView& kernel) {
    std::vector<std::string> options = {""};
    if (kernel.options() > 1) options = bench::measured_options(database_, kernel, machine_.host);
    for (const std::string& option : options) {
      const auto code = store_.find({std::string(kernel.fingerprint), option, machine_.isa, kXlaVersion});
      const bool here = code && code->compiled;
      has_code_.push_back(here);
      std::vector<float> row(features::code_feature_names().size());
      if (here) {
        const double start_s = cpu_s();
        row = features::code_features(features::summary_of_code(code->objects));
        seconds_ += cpu_s() - start_s;
        ++count_;
      }
      rows_.insert(rows_.end(), row.begin(), row.end());
    }
  }
  void append_to(std::vector<NamedArray>& arrays) const {
    const auto rows = static_cast<int64_t>(has_code_.size());
    arrays.push_back(
        array_of("code", "f32", rows_, {rows, static_cast<int64_t>(features::code_feature_names().size())}));
    arrays.push_back(array_of("has_code", "s32", has_code_, {rows}));
    std::fprintf(stderr, "code of %lld of %lld rows, %.0f a second\n", static_cast<long long>(count_),
                 static_cast<long long>(rows), seconds_ > 0 ? static_cast<double>(count_) / seconds_ : 0.0);
  }

 private:
  CodeStore store_;
  Database database_;
  features::MachineRecord machine_;
  std::vector<float> rows_;
  std::vector<int32_t> has_code_;
  int64_t count_ = 0;
  double seconds_ = 0;
};

void write_rows(const std::string& folder, const std::string& output, const features::Cpu& cpu, CodeRows* code) {
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
    if (code) code->add(kernel);
    const std::vector<uint8_t> line = line_of(kernel);
    lines.insert(lines.end(), line.begin(), line.end());
  }
  const auto count = static_cast<int64_t>(times.size());
  std::vector<NamedArray> arrays = {
      array_of("features", "f32", rows, {count, static_cast<int64_t>(cost::kernel_feature_names().size())}),
      array_of("runtime_ns", "f64", times, {count}),
      array_of("analytical_ns", "f64", estimates, {count}),
      array_of("kernel", "s32", kernels, {count}),
      array_of("is_default", "s32", defaults, {count}),
      array_of("kernels", "u8", lines, {static_cast<int64_t>(lines.size())})};
  if (code) code->append_to(arrays);
  write_npz(output, arrays);
}

}  // namespace

int main(int count, char** values) try {
  if (count >= 2 && std::string(values[1]) == "names") {
    for (const std::string& name : count == 2                                ? cost::kernel_feature_names()
                                   : std::string(values[2]) == "work"        ? cost::work_term_names()
                                   : std::string(values[2]) == "kernel-work" ? cost::kernel_work_term_names()
                                                                             : features::code_feature_names())
      std::printf("%s\n", name.c_str());
    return 0;
  }
  if (count != 3 && count != 5) {
    std::fprintf(
        stderr,
        "bench_kernel_rows DATA_SET_FOLDER OUTPUT.npz [CODE_FOLDER DATABASE] | names [code|work|kernel-work]\n");
    return 2;
  }
  const auto machine = features::read_machine_file(values[1]);
  std::optional<CodeRows> code;
  if (count == 5 && !machine) throw Error("the data set does not say which machine it is of", values[1]);
  if (count == 5) code.emplace(values[3], values[4], *machine);
  write_rows(values[1], values[2], machine ? machine->properties : features::this_cpu(1), code ? &*code : nullptr);
  return 0;
} catch (const hone::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
