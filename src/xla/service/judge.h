// Verdicts on candidates.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "measure/measure.h"
#include "measure/program.h"
#include "measure/wide.h"
#include "status.h"
#include "wire/client.h"
#include "wire/hone_generated.h"

namespace hone::xla_side {

// `Reply`: a table with verdict, stage and note.
template <class Reply>
void set_verdict(Reply& reply, wire::Verdict verdict, Stage stage, const std::string& note) {
  reply.verdict = verdict;
  reply.stage = wire::to_wire(stage);
  reply.note = note;
}

// Runs work on the candidate or its duel. A StageError in it becomes the candidate's verdict in the reply.
template <class Reply, class Work>
void about_candidate(Reply& reply, Work&& work) {
  try {
    work();
  } catch (const StageError& failed) {
    set_verdict(reply, wire::verdict_of(failed.stage()), failed.stage(), failed.what());
  }
}

// True when the outputs pass. `Reply`: also with max_error.
template <class Reply>
bool judge_outputs(const Comparison& found, Reply& reply) {
  reply.max_error = std::isfinite(found.max_error) ? found.max_error : 1e300;
  const bool passed = found.equal && found.informative;
  if (passed)
    set_verdict(reply, wire::Verdict::Ok, Stage::None, found.note);
  else if (found.equal)
    set_verdict(reply, wire::Verdict::Unverified, Stage::Compare, found.note);
  else
    set_verdict(reply, wire::Verdict::Mismatch, Stage::Compare, found.note.empty() ? "outputs differ" : found.note);
  return passed;
}

// Gives a program of half precision whose outputs differ a second chance: they may be as near as default XLA's to those in f32.
template <class Reply>
bool judge_by_wide(Program& program, const CompileTarget& target, const std::vector<xla::Literal>& reference,
                   const std::vector<xla::Literal>& outputs, Reply& reply) {
  if (reply.verdict != wire::Verdict::Mismatch) return false;
  const std::vector<xla::Literal>* wide = program.wide_reference(target);
  if (wide == nullptr) return false;
  const double distance = distance_from_wide(*wide, reference, outputs);
  if (distance > 1) {
    reply.note += absl::StrFormat(", and are %.3g times as far from those in f32 as may be", distance);
    return false;
  }
  reply.max_error = distance;
  set_verdict(reply, wire::Verdict::Ok, Stage::None, "as near as default XLA to the outputs in f32");
  return true;
}

}  // namespace hone::xla_side
