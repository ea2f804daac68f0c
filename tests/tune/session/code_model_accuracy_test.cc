// The shipped trees that see machine code, on kernels of validation programs, which no training saw: their code is compiled here for AVX2,
// their run times were measured on an AMD EPYC.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/isa.h"
#include "base/xla_version.h"
#include "cost/code_model.h"
#include "cost/kernel_ranker.h"
#include "cost/learn_library.h"
#include "data/database.h"
#include "data/default_run_time.h"
#include "features/machine_record.h"
#include "tests/tune/real_worker.h"
#include "tune/session/session.h"

using namespace hone;

TEST_CASE("run times of unseen kernels are predicted by their code", "[tune]") {
  if (tune::no_worker()) return;
  if (!has_isa(cpu_isa(), "avx2")) return skip_case("no AVX2 in this CPU");
  const Database kernels =
      Database::open(HONE_SOURCE_DIR "/tests/tune/session/validation_kernels.db", {.read_only = true});
  const std::string host = "AMD EPYC, 2 cores, at most avx2";
  const auto record =
      features::machine_record_from_json(nlohmann::json::parse(kernels.find_machine(host).value()), "machine");
  const auto by_code = cost::CodeModel::open(HONE_SOURCE_DIR "/data/models/code", record.properties);
  const auto before = cost::load_learned_model(HONE_SOURCE_DIR "/data/models/fusion", record.properties);
  tune::SessionOptions options = tune::with_worker();
  options.target.max_isa = "avx2";
  tune::Session session(options);
  double error = 0, error_before = 0;
  int count = 0, with_code = 0;
  for (const StoredKernelSummary& summary : kernels.stored_kernels(1)) {
    const StoredKernel stored = kernels.find_stored_kernel(summary.fingerprint, 1).value();
    const Kernel kernel = kernel_of(stored);
    const double measured =
        default_run_time(kernels.find_kernel(kernel.fingerprint, host, 1, kXlaVersion), kernel.default_value()).value();
    const cost::EncodedOptions encoded(kernel, {kernel.default_value()});
    const std::vector<std::string> code = session.compiled_code(kernel, "");
    with_code += !code.empty();
    error += std::abs(by_code.predict_ns(encoded.view(), code) / measured - 1);
    error_before += std::abs(before->predict(encoded.view()).at(0) / measured - 1);
    ++count;
  }
  REQUIRE(count == 14);
  CHECK(with_code == count);
  CAPTURE(error / count, error_before / count);
  CHECK(error / count < 0.35);
  CHECK(error < 1.1 * error_before);
}
