// The measurer with real workers: one lowers programs, one measures.
#include <algorithm>
#include <utility>

#include "collect/collect.h"
#include "data/layout_space.h"
#include "tune/session/session.h"

namespace hone::collect {

namespace {

constexpr int kMeasurementsPerWorker = 1000;  // then a fresh one, which bounds the leaks of code generation

StoredKernel stored_kernel(const wire::KernelT& from) {
  StoredKernel kernel;
  kernel.fingerprint = from.fingerprint;
  kernel.kind = from.kind;
  kernel.name = from.name;
  kernel.default_tile = from.default_tile;
  kernel.flops = from.flops;
  kernel.transcendentals = from.transcendentals;
  kernel.bytes_read = from.bytes_read;
  kernel.bytes_written = from.bytes_written;
  kernel.hlo = from.hlo;
  kernel.module_proto.assign(from.module_proto.begin(), from.module_proto.end());
  if (!from.dimension) return kernel;
  const Dimension dimension = wire::from_wire(*from.dimension);
  kernel.decision = decision_kind_name(dimension.kind);
  kernel.options = dimension.options;
  kernel.default_option = dimension.default_option;
  return kernel;
}

class WorkerSource : public KernelSource {
 public:
  WorkerSource(const tune::SessionOptions& options, const std::string& bytes, const std::string& name)
      : session_(options) {
    session_.load(bytes, name);
  }
  std::string fingerprint() const override { return session_.program().program; }
  FoundKernels lower(const Decisions& decisions) override {
    const wire::LowerReplyT reply = session_.lower_reply(decisions, /*want_fusion=*/true, /*want_protos=*/true);
    FoundKernels found;
    for (const auto& kernel : reply.kernels) found.kernels.push_back(stored_kernel(*kernel));
    for (const auto& dimension : reply.dimensions) found.dimensions.push_back(wire::from_wire(*dimension));
    return found;
  }
  std::vector<Decisions> layouts(int count, uint64_t seed) override {
    const LayoutSpace found = layout_space_from(session_.list_layouts(), LayoutsOf::All);
    std::vector<Decisions> layouts;
    for (const Choice& choice : sample_layouts(found.space, count, seed))
      layouts.push_back(found.space.decisions(choice));
    return layouts;
  }

 private:
  tune::Session session_;
};

class WorkerMeasurer : public CollectMeasurer {
 public:
  WorkerMeasurer(Database& database, tune::SessionOptions options)
      : options_(std::move(options)), measuring_(options_) {
    measuring_.use_database(database, /*reuse_kernels=*/true);
  }
  std::unique_ptr<KernelSource> open(const std::string& bytes, const std::string& name) override {
    tune::SessionOptions options = options_;
    if (options.budget_s > 0) options.budget_s = std::max(1.0, measuring_.seconds_left());
    return std::make_unique<WorkerSource>(options, bytes, name);
  }
  tune::Measurement measure(const StoredKernel& stored, const std::string& value, const tune::Duel& duel,
                            const std::string& program_fingerprint) override {
    if (++measured_ % kMeasurementsPerWorker == 0) measuring_.fresh_process();
    measuring_.record_as(program_fingerprint);
    return measuring_.measure_kernel(kernel_of(stored), value, duel);
  }
  std::vector<std::string> code(const StoredKernel& kernel) override {
    return measuring_.compiled_code(kernel_of(kernel), "");
  }
  void fresh_process() override { measuring_.fresh_process(); }
  double seconds_left() override { return measuring_.seconds_left(); }
  std::string host() override { return measuring_.host(); }
  std::string xla_version() override { return measuring_.worker_info().xla_version; }
  features::MachineRecord machine() override {
    return features::this_machine_record(host(), options_.target.threads, options_.target.max_isa);
  }

 private:
  tune::SessionOptions options_;
  tune::Session measuring_;
  int64_t measured_ = 0;
};

}  // namespace

std::unique_ptr<CollectMeasurer> make_collect_measurer(Database& database, const CollectOptions& options,
                                                       double budget_s, int64_t memory_limit_bytes) {
  tune::SessionOptions session;
  session.target.threads = options.threads;
  session.target.seed = options.seed;
  session.target.max_isa = options.max_isa;
  session.budget_s = budget_s;
  session.worker.memory_limit_bytes = memory_limit_bytes;
  return std::make_unique<WorkerMeasurer>(database, session);
}

}  // namespace hone::collect
