#include "tune/session/replies.h"

#include <fmt/core.h>

#include <algorithm>

#include "wire/kernel.h"

namespace hone::tune {

namespace {

constexpr bool same(Outcome outcome, wire::Verdict verdict) {
  return static_cast<int>(outcome) == static_cast<int>(verdict);
}
static_assert(same(Outcome::Ok, wire::Verdict::Ok) && same(Outcome::Mismatch, wire::Verdict::Mismatch) &&
                  same(Outcome::Unverified, wire::Verdict::Unverified) &&
                  same(Outcome::CompileFailed, wire::Verdict::CompileFailed) &&
                  same(Outcome::Crashed, wire::Verdict::Crashed) && same(Outcome::TimedOut, wire::Verdict::TimedOut) &&
                  same(Outcome::RunFailed, wire::Verdict::RunFailed) && same(Outcome::RunFailed, wire::Verdict::MAX),
              "Outcome and wire::Verdict must have the same values");

constexpr double kMostSoundSeconds = 60;  // that a sound reply says for the interpreter

}  // namespace

Outcome outcome_of(wire::Verdict verdict) {
  if (verdict < wire::Verdict::MIN || verdict > wire::Verdict::MAX)
    throw InternalError(fmt::format("a message has the unknown verdict {}", static_cast<int>(verdict)));
  return static_cast<Outcome>(verdict);
}

Measurement measurement_of(const wire::MeasureReplyT& reply) {
  return {.outcome = outcome_of(reply.verdict),
          .stage = wire::from_wire(reply.stage),
          .baseline_ns = reply.baseline_ns,
          .candidate_ns = reply.candidate_ns,
          .ratio = reply.ratio,
          .ratio_low = reply.ratio_low,
          .ratio_high = reply.ratio_high,
          .rounds = reply.rounds,
          .compile_ms = reply.compile_ms,
          .baseline_compile_ms = reply.baseline_compile_ms,
          .max_error = reply.max_error,
          .interpreted = reply.evaluator_checked,
          .interpreter_s = reply.evaluator_s > 0 ? std::min(reply.evaluator_s, kMostSoundSeconds) : 0,
          .error = reply.error,
          .default_error = reply.default_error,
          .core_ns = reply.core_ns,
          .stolen_ms = reply.stolen_ms,
          .note = reply.note};
}

Measurement measurement_of(const Record& row) {
  return {.outcome = outcome_from_name(row.status),
          .stage = stage_from_name(row.stage).value_or(Stage::None),
          .baseline_ns = row.baseline_ns,
          .candidate_ns = row.candidate_ns,
          .ratio = row.ratio,
          .ratio_low = row.ratio_low,
          .ratio_high = row.ratio_high,
          .rounds = row.rounds,
          .compile_ms = row.compile_ms,
          .max_error = row.max_error,
          .core_ns = row.core_ns,
          .stolen_ms = row.stolen_ms,
          .note = row.note};
}

Lowered lowered_of(const wire::LowerReplyT& reply) {
  Lowered lowered;
  lowered.fingerprint = reply.fingerprint;
  lowered.hlo = reply.hlo;
  lowered.instructions = reply.instructions;
  for (const auto& kernel : reply.kernels) lowered.kernels.push_back(wire::from_wire(*kernel));
  std::erase_if(lowered.kernels, [](const Kernel& k) { return k.dimension.options.empty(); });
  for (const auto& dimension : reply.dimensions) lowered.dimensions.push_back(wire::from_wire(*dimension));
  lowered.outside_bytes = reply.outside_bytes;
  lowered.unknown_loops = reply.unknown_loops;
  for (const auto& moved : reply.moved) lowered.moved.push_back({moved->bytes, moved->runs});
  lowered.of_weights = reply.of_weights;
  lowered.unmatched = wire::from_wire(reply.unmatched);
  return lowered;
}

}  // namespace hone::tune
