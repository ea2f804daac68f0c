#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "wire/client.h"
#include "wire/reply.h"

using namespace hone::wire;

TEST_CASE("decisions are unchanged by conversion") {
  const hone::Decisions decisions = {{hone::DecisionKind::Fusion, "a>b", "keep"},
                                     {hone::DecisionKind::Codegen, "k1", "tile=8,8;slp=0"},
                                     {hone::DecisionKind::Passes, "algsimp", "off"}};
  CHECK(from_wire(to_wire(decisions)) == decisions);
  CHECK(from_wire(to_wire(decisions[1])) == decisions[1]);
}

TEST_CASE("a dimension keeps all its fields") {
  DimensionT sent;
  sent.kind = DecisionKind::Library;
  sent.key = "dot";
  sent.options = {"eigen", "ynn"};
  sent.default_option = 1;
  sent.weight = 0.25;
  const hone::Dimension dimension = from_wire(sent);
  CHECK(dimension.kind == hone::DecisionKind::Library);
  CHECK(dimension.key == "dot");
  CHECK(dimension.options == std::vector<std::string>{"eigen", "ynn"});
  CHECK(dimension.default_option == 1);
  CHECK(dimension.weight == 0.25);
}

TEST_CASE("stages are unchanged by conversion and determine the verdict on a failed candidate") {
  using hone::Stage;
  for (const Stage stage : {Stage::None, Stage::Load, Stage::Passes, Stage::Codegen, Stage::Run, Stage::Compare})
    CHECK(from_wire(to_wire(stage)) == stage);
  CHECK(verdict_of(Stage::Passes) == Verdict::CompileFailed);
  CHECK(verdict_of(Stage::Codegen) == Verdict::CompileFailed);
  CHECK(verdict_of(Stage::Run) == Verdict::RunFailed);
  CHECK(verdict_of(Stage::None) == Verdict::RunFailed);
}

TEST_CASE("a message is refused where its numbers lie between addresses that they may have") {
  ReplyT sent;
  RunReplyT run;
  run.times_ns = {1, 2, 3};
  sent.body.Set(run);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Reply::Pack(builder, &sent));
  const std::span<const uint8_t> message(builder.GetBufferPointer(), builder.GetSize());
  std::vector<uint64_t> memory(message.size() / 8 + 2);
  for (const int64_t offset : {0, 4}) {  // all lengths and offsets have 4 bytes
    auto* at = reinterpret_cast<uint8_t*>(memory.data()) + offset;
    std::copy(message.begin(), message.end(), at);
    const auto read = decode_reply({at, message.size()});
    REQUIRE(read.has_value() == (offset == 0));
    if (read) CHECK(read->body.AsRunReply()->times_ns == run.times_ns);
  }
}

TEST_CASE("invalid values in messages are refused") {
  DimensionT dimension;
  dimension.options = {"x"};
  dimension.default_option = 1;
  CHECK_THROWS_AS(from_wire(dimension), hone::InternalError);
  DecisionT decision;
  decision.kind = static_cast<DecisionKind>(99);
  CHECK_THROWS_AS(from_wire(decision), hone::InternalError);
  CHECK_THROWS_AS(from_wire(static_cast<hone::wire::Stage>(99)), hone::InternalError);
}
