// Conversions between the plain types and those of hone.fbs.
#include <fmt/format.h>

#include "wire/client.h"
#include "wire/reply.h"

namespace hone::wire {
namespace {

// One row of decisions.def after the other, by number and by name.
#define DECISION(kind, ...) \
  static_assert(static_cast<int>(DecisionKind::kind) == static_cast<int>(hone::DecisionKind::kind));
#include "graph/decisions.def"
#undef DECISION
static_assert(static_cast<int>(DecisionKind::MAX) + 1 == kDecisionKinds,
              "hone.fbs and decisions.def must list the same kinds");
static_assert(static_cast<int>(Stage::None) == static_cast<int>(hone::Stage::None) &&
                  static_cast<int>(Stage::Load) == static_cast<int>(hone::Stage::Load) &&
                  static_cast<int>(Stage::Passes) == static_cast<int>(hone::Stage::Passes) &&
                  static_cast<int>(Stage::Codegen) == static_cast<int>(hone::Stage::Codegen) &&
                  static_cast<int>(Stage::Run) == static_cast<int>(hone::Stage::Run) &&
                  static_cast<int>(Stage::Compare) == static_cast<int>(hone::Stage::Compare) &&
                  Stage::MAX == Stage::Compare,
              "hone.fbs and stage.h must list the same stages");

hone::DecisionKind plain(DecisionKind kind) {
  if (kind < DecisionKind::MIN || kind > DecisionKind::MAX)
    throw InternalError(fmt::format("a message holds decision kind {}", static_cast<int>(kind)));
  return static_cast<hone::DecisionKind>(kind);
}

}  // namespace

std::optional<ReplyT> decode_reply(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier::Options options;
  options.max_tables = 100'000'000;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  if (!VerifyReplyBuffer(verifier)) return std::nullopt;
  ReplyT reply;
  GetReply(bytes.data())->UnPackTo(&reply);
  return reply;
}

Stage to_wire(hone::Stage stage) { return static_cast<Stage>(stage); }

hone::Stage from_wire(Stage stage) {
  if (stage < Stage::MIN || stage > Stage::MAX)
    throw InternalError(fmt::format("a message holds stage {}", static_cast<int>(stage)));
  return static_cast<hone::Stage>(stage);
}

Verdict verdict_of(hone::Stage stage) {
  const bool compiling = stage == hone::Stage::Passes || stage == hone::Stage::Codegen;
  return compiling ? Verdict::CompileFailed : Verdict::RunFailed;
}

DecisionT to_wire(const hone::Decision& decision) {
  DecisionT result;
  result.kind = static_cast<DecisionKind>(decision.kind);
  result.key = decision.key;
  result.value = decision.value;
  return result;
}

hone::Decision from_wire(const DecisionT& decision) { return {plain(decision.kind), decision.key, decision.value}; }

hone::Dimension from_wire(const DimensionT& dimension) {
  if (dimension.default_option < 0 || static_cast<size_t>(dimension.default_option) >= dimension.options.size())
    throw InternalError("a message holds a dimension whose default is not among its options: " + dimension.key);
  return {plain(dimension.kind), dimension.key,   dimension.options, dimension.default_option,
          dimension.weight,      dimension.count, dimension.weights};
}

std::vector<std::unique_ptr<DecisionT>> to_wire(const Decisions& decisions) {
  std::vector<std::unique_ptr<DecisionT>> result;
  result.reserve(decisions.size());
  for (const hone::Decision& decision : decisions) result.push_back(std::make_unique<DecisionT>(to_wire(decision)));
  return result;
}

Decisions from_wire(const std::vector<std::unique_ptr<DecisionT>>& decisions) {
  Decisions result;
  result.reserve(decisions.size());
  for (const auto& decision : decisions) result.push_back(from_wire(*decision));
  return result;
}

}  // namespace hone::wire
