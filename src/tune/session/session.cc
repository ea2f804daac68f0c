#include "tune/session/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/interrupt.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/scoped_flag.h"
#include "base/text.h"
#include "tune/session/replies.h"
#include "wire/despite_kills.h"
#include "wire/kernel.h"

namespace hone::tune {

namespace {

using wire::despite_kills;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kInterruptGraceSeconds = 2;  // for the current candidate, so that the worker keeps what it compiled
constexpr double kOvertime = 0.1;             // share of the budget that the current candidate may take beyond it
constexpr double kNoLimitSeconds = 1e9;       // finite: budgets are subtracted from it
constexpr double kRunLimitSeconds = 3600;     // for all runs of one request
constexpr size_t kMostDescribed = 20'000;     // kernels; beyond it all are dropped

// To the nearest, of two equally near ones to the even.
NamedArray rounded_to_bf16(const NamedArray& array) {
  NamedArray rounded{.name = array.name, .type = "bf16", .dims = array.dims, .bytes = {}};
  rounded.bytes.resize(array.bytes.size() / 2);
  for (size_t i = 0; i < array.bytes.size() / 4; ++i) {
    uint32_t bits;
    std::memcpy(&bits, array.bytes.data() + 4 * i, sizeof bits);
    const bool none = (bits & 0x7FFFFFFF) > 0x7F800000;  // not a number: rounding could make it infinite
    const auto half = static_cast<uint16_t>((none ? bits | 0x400000 : bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    std::memcpy(rounded.bytes.data() + 2 * i, &half, sizeof half);
  }
  return rounded;
}

// A request about the loaded program under decisions.
template <class Request>
Request request_about(const wire::LoadReplyT& program, std::unique_ptr<wire::TargetT> target,
                      const Decisions& decisions) {
  Request request;
  request.program = program.program;
  request.target = std::move(target);
  request.decisions = wire::to_wire(decisions);
  return request;
}

std::unique_ptr<wire::ArrayT> to_wire_array(NamedArray array) {
  auto result = std::make_unique<wire::ArrayT>();
  result->type = std::move(array.type);
  result->dims = std::move(array.dims);
  result->data = std::move(array.bytes);
  return result;
}

void append_content(std::string& content, const std::string& type, const std::vector<uint8_t>& bytes) {
  content += fmt::format("{} {} ", type, bytes.size());
  content.append(bytes.begin(), bytes.end());
}

}  // namespace

void Target::validate() const {
  if (threads < 1 || threads > 1024) throw Error(fmt::format("{} threads", threads), "--threads", "1 to 1024");
  check_max_isa(max_isa, cpu_isa());
}

std::string index_list_text(const std::vector<int>& indices) {
  std::string text;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(indices[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ",") + std::to_string(indices[end - 1]);
    i = end;
  }
  return text;
}

Session::Session(SessionOptions options)
    : options_(std::move(options)), worker_(options_.worker), start_(Clock::now()) {
  options_.target.validate();
  worker_.on_wait([this] { poll(); });
}

void Session::poll() {
  if (confirming_) return;
  const auto now = Clock::now();
  if (interrupted() && !interrupted_at_) interrupted_at_ = now;
  if (interrupted_at_ && Seconds(now - *interrupted_at_).count() > kInterruptGraceSeconds) throw Stopped();
  const double spent = Seconds(now - start_).count();
  if (options_.budget_s > 0 && !beyond_budget_ && spent > options_.budget_s * (1 + kOvertime)) throw Stopped();
}

void Session::use_database(Database& database, bool reuse_kernels) {
  database_ = &database;
  reuse_kernels_ = reuse_kernels;
}

void Session::begin_search() {
  confirming_ = false;
  start_ = Clock::now();
}

double Session::seconds_left() const {
  if (interrupted()) return 0;
  if (options_.budget_s <= 0) return kNoLimitSeconds;
  return std::max(0.0, options_.budget_s - Seconds(Clock::now() - start_).count());
}

const wire::HelloReplyT& Session::worker_info() {
  if (!info_) info_ = despite_kills([&] { return worker_.call<wire::HelloReplyT>(wire::HelloRequestT{}); });
  return *info_;
}

MadeWith Session::made_with(const std::string& max_isa) {
  std::map<std::string, std::string> libraries;
  for (const auto& library : worker_info().libraries) libraries[library->name] = library->version;
  return made_here(max_isa, worker_info().xla_version, libraries);
}

std::string Session::host() { return host_text(worker_info().cpu, worker_info().cores, options_.target.max_isa); }

void Session::load(const std::string& bytes, const std::string& name) {
  const ScopedFlag no_limit(beyond_budget_,
                            true);  // without a program there is nothing to search
  worker_info();                    // needed for every record; requested here so that no candidate is waiting
  try {
    program_ = despite_kills([&] {
      wire::LoadRequestT request;
      request.bytes.assign(bytes.begin(), bytes.end());
      request.name = name;
      return worker_.call<wire::LoadReplyT>(std::move(request));
    });
  } catch (const wire::WorkerFailure& died) {
    // XLA aborts on some programs that parse; this is reported as an input that it cannot read.
    throw Error(std::string("XLA cannot load this program: ") + died.what(), name);
  }
  name_ = name;
  set_up_preparing(bytes);
  std::string snapshot;
  for (const auto& array : program_.snapshot_inputs) append_content(snapshot, array->type, array->data);
  if (!snapshot.empty()) inputs_fingerprint_ = hash_hex(snapshot);
  for (int weight : options_.target.weights)
    if (weight < 0 || weight >= static_cast<int>(program_.parameters.size()))
      throw Error(fmt::format("parameter {} does not exist: the program has {}", weight, program_.parameters.size()),
                  "--weights");
}

void Session::set_up_preparing(const std::string& bytes) {
  preparer_.reset();
  const wire::WorkerOptions& own = options_.worker;
  if (!options_.prepare || options_.target.threads != 1 || !own.cache_code || own.cache_folder.empty()) return;
  const std::vector<int> cpus = own.cpus.empty() ? allowed_cpus() : own.cpus;
  wire::WorkerOptions other = own;
  other.cpus = spare_cpus(cpus);
  if (other.cpus.empty()) return;
  measuring_cpu_ = cpus.front();
  preparer_ = std::make_unique<Preparer>(other, *wire_target(), bytes, name_);
}

void Session::prepare(const std::vector<Decisions>& candidates) {
  if (preparer_ && !confirming_) preparer_->want(candidates);
}

void Session::begin_confirmation() {
  confirming_ = true;
  if (preparer_) spdlog::debug("{} candidates were prepared", preparer_->compiled());
  preparer_.reset();
}

void Session::set_inputs(std::vector<NamedArray> arrays) {
  const size_t count = program_.parameters.size();
  if (arrays.size() != count)
    throw Error(fmt::format("{} arrays given, the program has {} parameters", arrays.size(), count), "--inputs",
                "give one array per parameter: arr_0, arr_1, ...");
  std::vector<NamedArray*> ordered(count, nullptr);
  for (size_t i = 0; i < count; ++i) {
    const std::string positional = "arr_" + std::to_string(i);
    for (NamedArray& array : arrays)
      if (array.name == positional) ordered[i] = &array;
  }
  const bool by_name = std::none_of(ordered.begin(), ordered.end(), [](auto* a) { return a == nullptr; });
  wire::InputsRequestT request;
  request.program = program_.program;
  std::string content;
  for (size_t i = 0; i < count; ++i) {
    NamedArray& array = by_name ? *ordered[i] : arrays[i];
    // Inputs are those of the original program.
    if (options_.target.precision == kBf16Weights && array.type == "f32" && program_.parameters[i].starts_with("bf16["))
      array = rounded_to_bf16(array);
    append_content(content, array.type, array.bytes);
    request.inputs.push_back(to_wire_array(std::move(array)));
  }
  worker_.call<wire::InputsReplyT>(std::move(request));
  inputs_fingerprint_ = hash_hex(content);
}

std::unique_ptr<wire::TargetT> Session::wire_target() const {
  auto target = std::make_unique<wire::TargetT>();
  target->threads = options_.target.threads;
  target->seed = options_.target.seed;
  target->allow_fast_math = options_.target.allow_fast_math;
  target->weights = options_.target.weights;
  target->max_isa = options_.target.max_isa;
  target->most_error = options_.target.exact ? kExactError : kMostError;
  return target;
}

wire::LowerReplyT Session::lower_reply(const Decisions& decisions, bool want_fusion, bool want_protos) {
  return despite_kills([&] {
    auto request = request_about<wire::LowerRequestT>(program_, wire_target(), decisions);
    request.want_hlo = true;
    request.want_fusion = want_fusion;
    request.want_protos = want_protos;
    request.kept = true;
    return worker_.call<wire::LowerReplyT>(std::move(request));
  });
}

wire::ListLayoutsReplyT Session::list_layouts(const Decisions& under) {
  return despite_kills([&] {
    return worker_.call<wire::ListLayoutsReplyT>(
        request_about<wire::ListLayoutsRequestT>(program_, wire_target(), under));
  });
}

Lowered Session::lower(const Decisions& decisions, bool want_fusion) {
  Lowered lowered = lowered_of(lower_reply(decisions, want_fusion, /*want_protos=*/true));
  if (described_.size() > kMostDescribed) described_.clear();
  for (const Kernel& kernel : lowered.kernels) {
    const auto [described, fresh] = described_.try_emplace(hash64(kernel.fingerprint), kernel);
    if (fresh) described->second.instructions.clear(), described->second.outside_bytes = 0;
  }
  return lowered;
}

Lowered Session::lower_kernels(const Decisions& decisions) {
  if (described_.size() > kMostDescribed) described_.clear();
  const auto reply = despite_kills([&] {
    auto request = request_about<wire::ListKernelsRequestT>(program_, wire_target(), decisions);
    for (const auto& [hash, kernel] : described_) request.known.push_back(hash);
    return worker_.call<wire::ListKernelsReplyT>(std::move(request));
  });
  Lowered lowered;
  lowered.fingerprint = reply.fingerprint;
  lowered.instructions = reply.instructions;
  for (const auto& kernel : reply.kernels) {
    const uint64_t hash = hash64(kernel->fingerprint);
    if (kernel->dimension) described_.insert_or_assign(hash, wire::from_wire(*kernel));
    const auto known = described_.find(hash);
    if (known == described_.end()) throw InternalError("the worker left out a kernel: " + kernel->fingerprint);
    lowered.kernels.push_back(known->second);
    lowered.kernels.back().count = std::max(1, kernel->count);
    lowered.kernels.back().runs = kernel->runs;
  }
  return lowered;
}

wire::RunReplyT Session::run(const Decisions& decisions, int repeat, bool want_outputs) {
  return despite_kills([&] {
    auto request = request_about<wire::RunRequestT>(program_, wire_target(), decisions);
    request.repeat = repeat;
    request.want_outputs = want_outputs;
    return worker_.call<wire::RunReplyT>(std::move(request), kRunLimitSeconds);
  });
}

TimedRuns Session::profile(const Decisions& decisions, int runs) {
  const auto reply = despite_kills([&] {
    auto request = request_about<wire::RunRequestT>(program_, wire_target(), decisions);
    request.repeat = runs;
    request.profile = true;
    return worker_.call<wire::RunReplyT>(std::move(request), kRunLimitSeconds);
  });
  TimedRuns timed{.times_ns = reply.times_ns, .slices = {}};
  for (const auto& event : reply.events)
    timed.slices.push_back({event->name, event->run, event->thread, event->start_ns, event->duration_ns});
  return timed;
}

std::map<std::string, double> Session::instruction_times(const Decisions& decisions, int runs) {
  try {
    return time_by_instruction(profile(decisions, runs).slices);
  } catch (const RunError& failed) {
    spdlog::warn("no profile: {}", failed.what());
    return {};
  }
}

}  // namespace hone::tune
