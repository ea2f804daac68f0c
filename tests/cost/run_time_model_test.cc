#include "cost/run_time_model.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "base/files.h"
#include "base/machine.h"
#include "base/xla_version.h"
#include "cost/ensemble.h"
#include "cost/kernel_ranker.h"
#include "cost/learn_library.h"
#include "data/database.h"

using namespace hone;
using namespace hone::cost;

namespace {

constexpr char kKernels[] = HONE_SOURCE_DIR "/data/machine-kernels.db";
constexpr char kWeights[] = HONE_SOURCE_DIR "/data/models/fusion";
const features::Cpu kEpyc{
    .vector_bits = 512, .l1_bytes = 32768, .l2_bytes = 1 << 20, .l3_bytes = 32 << 20, .threads = 1};

// The kernels that come with Hone, as a machine would measure them that takes `factor` of the predicted times.
MachineKernels measured_as(const std::function<double(const Kernel&)>& factor, size_t most = 1000) {
  const Database shipped = Database::open(kKernels, {.read_only = true});
  const auto model = load_learned_model(kWeights, kEpyc);
  MachineKernels measured;
  for (const StoredKernelSummary& summary : shipped.stored_kernels(1)) {
    if (measured.kernels.size() == most) break;
    const Kernel kernel = kernel_of(shipped.find_stored_kernel(summary.fingerprint, 1).value());
    const double predicted = model->predict(EncodedOptions(kernel, {kernel.default_value()}).view()).at(0);
    measured.kernels.push_back(kernel);
    measured.ns.push_back(predicted * factor(kernel));
  }
  return measured;
}

double predicted(LearnedModel& model, const Kernel& kernel) {
  return model.predict(EncodedOptions(kernel, {kernel.default_value()}).view()).at(0);
}

// Fusions, too, multiply matrices.
bool multiplies(const Kernel& kernel) { return kernel.hlo.find(" dot(") != std::string::npos; }

}  // namespace

TEST_CASE("predictions on a machine follow what it measured", "[trees]") {
  const MachineKernels slow_dots = measured_as([](const Kernel& k) { return k.kind == "dot" ? 4.0 : 1.0; });
  REQUIRE(slow_dots.kernels.size() > 100);
  const auto plain = load_learned_model(kWeights, kEpyc);
  const auto corrected = correct(load_learned_model(kWeights, kEpyc), slow_dots);
  CHECK(corrected->name() == plain->name() + ", corrected for this machine");
  CHECK(corrected->predicts_runtime());
  CHECK(corrected->task() == "fusion");
  for (const Kernel& kernel : slow_dots.kernels) {
    const double factor = predicted(*corrected, kernel) / predicted(*plain, kernel);
    if (kernel.kind == "dot") CHECK(factor > 1.8);
    if (kernel.kind == "fusion" && !multiplies(kernel)) CHECK(factor == Approx(1).margin(0.25));
  }
}

TEST_CASE("a machine that the model knows is left as it is, and so are others without enough kernels", "[trees]") {
  const auto as_it_is = [](const MachineKernels& measured) {
    return correct(load_learned_model(kWeights, kEpyc), measured)->name() ==
           load_learned_model(kWeights, kEpyc)->name();
  };
  CHECK(as_it_is(measured_as([n = 0](const Kernel&) mutable { return ++n % 2 == 0 ? 1.05 : 0.95; })));
  CHECK(as_it_is(measured_as([](const Kernel&) { return 3.0; }, kLeastKernels - 1)));
  CHECK_FALSE(as_it_is(measured_as([](const Kernel&) { return 3.0; }, kLeastKernels)));
  CHECK(as_it_is({}));
  // The analytical model has no leaves.
  const MachineKernels slow = measured_as([](const Kernel&) { return 3.0; });
  CHECK(correct(analytical_member("", "fusion", features::this_cpu(1)), slow)->name() == "analytical");
  // One disturbed measurement is no reason.
  MachineKernels disturbed = measured_as([n = 0](const Kernel&) mutable { return ++n % 2 == 0 ? 1.05 : 0.95; });
  disturbed.ns[7] *= 300;
  CHECK(as_it_is(disturbed));
  MachineKernels unreadable = slow;
  for (Kernel& kernel : unreadable.kernels) kernel.module = "none";
  CHECK(as_it_is(unreadable));
}

TEST_CASE("run times of a machine are those of its own rows with one thread", "[trees]") {
  const TempDir folder;
  const std::string path = (folder.path() / "machine.db").string();
  CHECK(measured_on(path, "a host").kernels.empty());
  const Database shipped = Database::open(kKernels, {.read_only = true});
  const StoredKernel kernel = shipped.find_stored_kernel(shipped.stored_kernels(1).at(0).fingerprint, 1).value();
  Database database = Database::open(path);
  database.add_kernel(kernel);
  CHECK(measured_on(path, "a host").kernels.empty());
  Record row;
  row.scope = "kernel";
  row.program = row.kernel = kernel.fingerprint;
  row.decisions = kernel.options.at(kernel.default_option);
  row.status = "ok";
  row.baseline_ns = 4000, row.candidate_ns = 4200, row.ratio = row.ratio_low = row.ratio_high = 4000 / 4200.0;
  row.rounds = 6;
  row.verified = true;
  row.host = "a host";
  row.xla_version = kXlaVersion;
  database.add(row);
  const MachineKernels found = measured_on(path, "a host");
  REQUIRE(found.kernels.size() == 1);
  CHECK(found.kernels[0].hlo == kernel.hlo);
  CHECK(found.ns == std::vector<double>{4100});
  CHECK(measured_on(path, "another host").kernels.empty());
  CHECK(measured_on("", "a host").kernels.empty());
  CHECK(measured_on((folder.path() / "none" / "machine.db").string(), "a host").kernels.empty());
}

TEST_CASE("kernels of a machine correct trees that see their code", "[trees]") {
  CodeModel model = CodeModel::open(HONE_SOURCE_DIR "/data/models/code", kEpyc);
  // As if libraries ran them all, which the trees do not expect, at five times what they predict then.
  const Database shipped = Database::open(kKernels, {.read_only = true});
  MachineKernels measured;
  for (const StoredKernelSummary& summary : shipped.stored_kernels(1, "", 40)) {
    measured.kernels.push_back(kernel_of(shipped.find_stored_kernel(summary.fingerprint, 1).value()));
    const Kernel& kernel = measured.kernels.back();
    measured.ns.push_back(5 * model.predict_ns(EncodedOptions(kernel, {kernel.default_value()}).view(), {}));
  }
  const std::vector<std::vector<std::string>> no_code(measured.kernels.size());
  const Kernel& first = measured.kernels.front();
  const EncodedOptions encoded(first, {first.default_value()});
  const double plain = model.predict_ns(encoded.view(), {});
  const LeafCorrection::Verdict verdict = model.correct(measured, no_code);
  CHECK(verdict.helps);
  CHECK(verdict.error == Approx(std::log(5)).margin(0.01));
  CHECK(model.predict_ns(encoded.view(), {}) == Approx(5 * plain).epsilon(0.05));
  // Too few take it back.
  measured.kernels.resize(kLeastKernels - 1), measured.ns.resize(kLeastKernels - 1);
  CHECK_FALSE(model.correct(measured, {no_code.begin(), no_code.begin() + kLeastKernels - 1}).helps);
  CHECK(model.predict_ns(encoded.view(), {}) == plain);
}
