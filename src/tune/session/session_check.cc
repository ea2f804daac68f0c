// Session: outputs compared on inputs of one kind.
#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "graph/allowed_difference.h"
#include "tune/session/replies.h"
#include "tune/session/session.h"
#include "wire/despite_kills.h"

namespace hone::tune {
namespace {

OutputCheck check_of(wire::CheckReplyT reply) {
  OutputCheck check{.outcome = outcome_of(reply.verdict), .note = std::move(reply.note)};
  check.applies = reply.applies;
  check.max_error = reply.max_error;
  check.elements = reply.elements;
  check.differing = reply.differing;
  check.special = reply.differing_special;
  check.output = reply.output;
  check.index = std::move(reply.index);
  check.expected = std::move(reply.expected);
  check.found = std::move(reply.found);
  return check;
}

}  // namespace

OutputCheck Session::check(const Decisions& decisions, InputKind kind, bool interpreter, double limit_s) {
  wire::CheckRequestT request;
  request.program = program_.program;
  request.target = wire_target();
  request.decisions = wire::to_wire(decisions);
  request.inputs = input_kind_name(kind);
  request.interpreter = interpreter;
  return check_of(worker_.call<wire::CheckReplyT>(std::move(request), limit_s));
}

OutputCheck Session::check_outputs(const Decisions& decisions, InputKind kind, double limit_s) {
  try {
    return check(decisions, kind, /*interpreter=*/false, limit_s);
  } catch (const wire::WorkerFailure& died) {
    const bool late = died.kind() == wire::WorkerFailure::Kind::TimedOut;
    return {.outcome = late ? Outcome::TimedOut : Outcome::Crashed, .note = died.what()};
  }
}

OutputCheck Session::check_interpreter(InputKind kind, double limit_s) {
  try {
    return check({}, kind, /*interpreter=*/true, limit_s);
  } catch (const wire::WorkerFailure& died) {
    return {.outcome = Outcome::Unverified, .note = std::string("the interpreter: ") + died.what()};
  }
}

Measurement Session::verify_on(const Decisions& candidate, InputKind inputs, double limit_s) {
  const double start = steady_s();
  OutputCheck found;
  const auto died = [](Outcome outcome) { return outcome == Outcome::Crashed || outcome == Outcome::TimedOut; };
  try {
    found = check_outputs(candidate, inputs, limit_s);
    if (died(found.outcome) && died(check_outputs({}, inputs, limit_s).outcome))  // default XLA does so, too
      found.outcome = Outcome::Unverified;
  } catch (const wire::NoWorker&) {
    throw;
  } catch (const Error& failed) {  // default XLA, on these inputs: they say nothing
    found = {.outcome = Outcome::Unverified, .note = failed.what()};
  }
  Measurement m{.outcome = found.outcome, .stage = found.outcome == Outcome::Mismatch ? Stage::Compare : Stage::None};
  const bool allowed =
      m.outcome == Outcome::Mismatch && allows_difference(candidate, inputs, found.differing == found.special);
  if (!found.applies || allowed) m.outcome = Outcome::Ok;
  m.max_error = found.max_error;
  m.note = fmt::format("on {} inputs{}{}", input_kind_name(inputs), found.note.empty() ? "" : ": ", found.note);
  spdlog::debug("outputs {}: {}, {:.0f} ms in all", m.note, outcome_name(m.outcome), ms_since(start));
  return m;
}

std::vector<std::string> Session::default_passes() {
  const auto reply = wire::despite_kills([&] { return worker_.call<wire::PassesReplyT>(wire::PassesRequestT{}); });
  std::vector<std::string> names;
  for (const auto& pass : reply.passes)
    if (pass->default_action && !pass->changes_numerics) names.push_back(pass->name);
  return names;
}

}  // namespace hone::tune
