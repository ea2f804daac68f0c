#include "passorder/pass_session.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/files.h"
#include "base/isa.h"
#include "base/sha256.h"
#include "base/suggest.h"
#include "features/encode.h"
#include "features/encoded.h"
#include "graph/hlo_reader.h"
#include "wire/despite_kills.h"
#include "wire/kernel.h"

namespace hone::passorder {
namespace {

using wire::despite_kills;
using Clock = std::chrono::steady_clock;

constexpr size_t kKeptGraphs = 512;
constexpr double kMeasureLimit_s = 300;

std::string step_key(const std::string& fingerprint, const std::string& pass) { return fingerprint + ' ' + pass; }

PassStatePtr state_of(const wire::ApplyReplyT& reply, bool costed) {
  auto state = std::make_shared<PassState>();
  state->fingerprint = reply.fingerprint;
  state->instructions = reply.instructions;
  for (const auto& count : reply.opcodes)
    state->counts[features::opcode_number(count->name)] += static_cast<float>(count->count);
  state->flops = reply.flops;
  state->transcendentals = reply.transcendentals;
  state->bytes = reply.bytes_accessed;
  state->costed = costed;
  return state;
}

GraphObservation graph_of(const std::vector<uint8_t>& proto) {
  const HloGraph module = read_hlo_graph({reinterpret_cast<const char*>(proto.data()), proto.size()});
  features::EncodedGraph encoded = features::encode_graph(module, features::node_feature_count());
  GraphObservation graph;
  graph.opcodes = std::move(encoded.opcodes);
  graph.node_features = std::move(encoded.node_features);
  for (size_t e = 0; e + 1 < encoded.edge_index.size(); e += 2) {
    graph.edge_to.push_back(static_cast<int32_t>(encoded.edge_index[e]));
    graph.edge_from.push_back(static_cast<int32_t>(encoded.edge_index[e + 1]));
  }
  return graph;
}

std::string joined(const PassHistory& history) {
  std::string text;
  for (const std::string& pass : history) text += (text.empty() ? "" : ",") + pass;
  return text;
}

Decisions decisions_of(const PassHistory& history) {
  if (history.empty()) return {};
  return {{DecisionKind::Passes, "order", joined(history)}};
}

}  // namespace

PassSession::PassSession(PassSessionOptions options) : options_(std::move(options)), worker_(options_.worker) {
  check_max_isa(options_.max_isa, cpu_isa());
}

const std::vector<PassInfo>& PassSession::passes() {
  const std::lock_guard lock(mutex_);
  if (passes_.empty()) {
    const auto reply = despite_kills([&] { return worker_.call<wire::PassesReplyT>(wire::PassesRequestT{}); });
    for (const auto& pass : reply.passes)
      passes_.push_back(
          {pass->name, pass->group, pass->meaning, pass->default_action, pass->changes_numerics, pass->note});
  }
  return passes_;
}

std::vector<std::string> PassSession::default_passes() {
  std::vector<std::string> names;
  for (const PassInfo& pass : passes())
    if (pass.default_action) names.push_back(pass.name);
  return names;
}

void PassSession::check_pass(const std::string& name) {
  std::vector<std::string> known;
  for (const PassInfo& pass : passes()) {
    if (pass.name == name) return;
    known.push_back(pass.name);
  }
  throw Error("there is no pass '" + name + "'" + did_you_mean(name, known), "--passes", "hone passes lists them");
}

wire::ApplyReplyT PassSession::apply(wire::ApplyRequestT request, double limit_s) {
  const auto start = Clock::now();
  const auto reply = despite_kills([&] {
    wire::ApplyRequestT copy = request;
    return worker_.call<wire::ApplyReplyT>(std::move(copy), limit_s);
  });
  counters_.call_ms += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return reply;
}

std::string PassSession::load(const std::string& bytes, const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::string program;
  try {
    program = despite_kills([&] {
      wire::LoadRequestT request;
      request.bytes.assign(bytes.begin(), bytes.end());
      request.name = name;
      return worker_.call<wire::LoadReplyT>(std::move(request)).program;
    });
    if (programs_.contains(program)) return program;
    wire::ApplyRequestT request;
    request.program = program;
    programs_[program] = remember(apply(std::move(request), 0), /*costed=*/true);
  } catch (const wire::WorkerFailure& died) {
    throw Error(std::string("XLA cannot load this program: ") + died.what(), name);
  } catch (const RunError&) {
    throw;
  } catch (const Error& bad) {
    throw Error(bad.what(), bad.where().empty() ? name : bad.where(), bad.hint());
  }
  return program;
}

std::string PassSession::load_file(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found != files_.end()) return found->second.program;
  const std::string bytes = read_file(path);
  const std::string program = load(bytes, path);
  files_[path] = {program, Sha256().add(bytes).hex()};
  return program;
}

std::string PassSession::file_sha256(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found == files_.end()) throw InternalError(path + " is not loaded");
  return found->second.sha256;
}

void PassSession::set_inputs(const std::string& program, const std::vector<NamedArray>& inputs) {
  const std::lock_guard lock(mutex_);
  wire::InputsRequestT request;
  request.program = program;
  for (const NamedArray& array : inputs) {
    auto copy = std::make_unique<wire::ArrayT>();
    copy->type = array.type;
    copy->dims = array.dims;
    copy->data = array.bytes;
    request.inputs.push_back(std::move(copy));
  }
  worker_.call<wire::InputsReplyT>(std::move(request));
}

PassStatePtr PassSession::initial(const std::string& program) {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(program);
  if (found == programs_.end()) throw InternalError("program " + program + " is not loaded");
  return found->second;
}

PassStatePtr PassSession::remember(const wire::ApplyReplyT& reply, bool costed) {
  if (states_.size() > options_.memory_states || steps_.size() > 8 * options_.memory_states) {
    states_.clear();
    steps_.clear();
  }
  PassStatePtr& slot = states_[reply.fingerprint];
  if (!slot || (costed && !slot->costed)) slot = state_of(reply, costed);
  return slot;
}

PassSession::Known PassSession::run(const std::string& program, const PassState& state, const PassHistory& history,
                                    const std::string& pass, bool& lasting) {
  wire::ApplyRequestT request;
  request.program = program;
  request.state = history.empty() ? "" : state.fingerprint;
  request.history = history;
  request.passes = {pass};
  request.want_costs = options_.costs;
  lasting = true;
  try {
    const wire::ApplyReplyT reply = apply(std::move(request), options_.step_limit_s);
    if (!reply.error.empty()) return {nullptr, reply.error, 0};
    const double ms = reply.pass_ms.empty() ? 0 : reply.pass_ms[0];
    if (reply.fingerprint == state.fingerprint) return {nullptr, "", ms};
    return {remember(reply, options_.costs), "", ms};
  } catch (const wire::WorkerFailure& died) {
    lasting = died.kind() != wire::WorkerFailure::Kind::Killed;
    return {nullptr, pass + ": " + died.what(), 0};
  } catch (const RunError& failed) {
    lasting = false;
    return {nullptr, pass + ": " + failed.what(), 0};
  }
}

PassStep PassSession::step(const std::string& program, const PassStatePtr& state, const PassHistory& history,
                           const std::string& pass) {
  const std::lock_guard lock(mutex_);
  ++counters_.steps;
  const std::string key = step_key(state->fingerprint, pass);
  const auto found = steps_.find(key);
  PassStep step;
  step.cached = found != steps_.end();
  bool lasting = false;
  Known known = step.cached ? found->second : run(program, *state, history, pass, lasting);
  if (step.cached) ++counters_.cached;
  if (!step.cached) counters_.pass_ms += known.ms;
  if (lasting) steps_[key] = known;
  step.ms = known.ms;
  step.error = known.error;
  step.changed = known.state != nullptr;
  step.state = step.changed ? known.state : state;
  counters_.changed += step.changed;
  counters_.failed += !step.error.empty();
  return step;
}

PassStatePtr PassSession::with_costs(const std::string& program, const PassStatePtr& state,
                                     const PassHistory& history) {
  const std::lock_guard lock(mutex_);
  if (state->costed) return state;
  const auto known = states_.find(state->fingerprint);
  if (known != states_.end() && known->second->costed) return known->second;
  wire::ApplyRequestT request;
  request.program = program;
  request.state = history.empty() ? "" : state->fingerprint;
  request.history = history;
  return remember(apply(std::move(request), 0), /*costed=*/true);
}

std::string PassSession::hlo(const std::string& program, const PassHistory& history) {
  const std::lock_guard lock(mutex_);
  wire::ApplyRequestT request;
  request.program = program;
  request.passes = history;
  request.want_costs = false;
  request.want_hlo = true;
  wire::ApplyReplyT reply = apply(std::move(request), 0);
  if (!reply.error.empty()) throw RunError("a pass failed that had succeeded before: " + reply.error);
  return reply.hlo;
}

std::string PassSession::verify(const std::string& program, const PassHistory& history) {
  const std::lock_guard lock(mutex_);
  wire::ApplyRequestT request;
  request.program = program;
  request.passes = history;
  request.want_costs = false;
  request.verify = true;
  try {
    return apply(std::move(request), 0).error;
  } catch (const wire::WorkerFailure& died) {
    return died.what();
  }
}

std::shared_ptr<const GraphObservation> PassSession::graph(const std::string& program, const PassState& state,
                                                           const PassHistory& history) {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(state.fingerprint);
  if (found != graphs_.end()) return found->second;
  wire::ApplyRequestT request;
  request.program = program;
  request.state = history.empty() ? "" : state.fingerprint;
  request.history = history;
  request.want_costs = false;
  request.want_proto = true;
  const wire::ApplyReplyT reply = apply(std::move(request), 0);
  if (graphs_.size() >= kKeptGraphs) graphs_.clear();
  return graphs_[state.fingerprint] = std::make_shared<const GraphObservation>(graph_of(reply.module_proto));
}

std::unique_ptr<wire::TargetT> PassSession::target() const {
  auto target = std::make_unique<wire::TargetT>();
  target->threads = options_.threads;
  target->seed = options_.seed;
  target->max_isa = options_.max_isa;
  return target;
}

void PassSession::fresh_process() {
  const std::lock_guard lock(mutex_);
  worker_.kill();
}

OrderKernels PassSession::kernels(const std::string& program, const PassHistory& history, std::vector<uint64_t> known) {
  const std::lock_guard lock(mutex_);
  const auto reply = despite_kills([&] {
    wire::ListKernelsRequestT request;
    request.program = program;
    request.target = target();
    request.decisions = wire::to_wire(decisions_of(history));
    request.known = known;
    return worker_.call<wire::ListKernelsReplyT>(std::move(request), options_.kernels_limit_s);
  });
  OrderKernels found{reply.fingerprint, {}};
  for (const auto& kernel : reply.kernels) found.kernels.push_back(wire::from_wire(*kernel));
  return found;
}

PassDuel PassSession::duel(const std::string& program, const PassHistory& history, const PassDuelEffort& effort) {
  const std::lock_guard lock(mutex_);
  PassDuel duel;
  try {
    const auto reply = despite_kills([&] {
      wire::MeasureRequestT request;
      request.program = program;
      request.target = target();
      request.decisions = wire::to_wire(decisions_of(history));
      request.budget_ms = effort.budget_ms;
      request.max_rounds = effort.max_rounds;
      return worker_.call<wire::MeasureReplyT>(std::move(request), kMeasureLimit_s);
    });
    duel.verified = reply.verdict == wire::Verdict::Ok;
    duel.baseline_ns = reply.baseline_ns;
    duel.candidate_ns = reply.candidate_ns;
    duel.ratio = reply.ratio;
    duel.ratio_low = reply.ratio_low;
    duel.ratio_high = reply.ratio_high;
    if (!duel.verified) duel.error = reply.note.empty() ? "outputs are not verified" : reply.note;
  } catch (const RunError& failed) {
    duel.error = failed.what();
  }
  return duel;
}

}  // namespace hone::passorder
