#include "graph/hlo_reader.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/rng.h"
#include "tests/graph/module_proto.h"

namespace hone {
namespace {

using namespace hone::test;
using Catch::Contains;

// A module of one instruction with the given attributes on two f32[8,8] parameters.
Node read_one(const std::string& opcode, const ComputationProto::Fill& attributes) {
  int64_t next = 1;
  ComputationProto entry("main", 1, next);
  const int64_t a = entry.parameter(0, array(kF32, {8, 8})), b = entry.parameter(1, array(kF32, {8, 8}));
  entry.add("it", opcode, array(kF32, {8, 8}), {a, b}, attributes);
  return read_hlo_graph(module("m", {&entry})).nodes.back();
}

std::string message_of(const std::string& bytes) {
  try {
    read_hlo_graph(bytes);
  } catch (const Error& e) {
    return e.where() + ": " + e.what();
  }
  return "";
}

TEST_CASE("hlo reader: a fusion, node by node") {
  const HloGraph graph = read_hlo_graph(fusion_module());
  CHECK(graph.name == "fusion_module");
  REQUIRE(graph.computations.size() == 2);
  CHECK(graph.computations[0].name == "fused");
  CHECK(graph.computations[0].last == 4);
  CHECK(graph.computations[0].root == 3);
  CHECK(graph.computations[1].first == 4);
  CHECK(graph.entry == 1);
  REQUIRE(graph.nodes.size() == 7);
  CHECK(graph.nodes[0].parameter_number == 0);
  CHECK(graph.nodes[1].parameter_number == 1);
  CHECK(graph.nodes[3].operands == std::vector<int32_t>{2, 0});
  CHECK(graph.nodes[3].is_root);
  CHECK_FALSE(graph.nodes[2].is_root);
  const Node& fusion = graph.nodes[6];
  CHECK(fusion.opcode == "fusion");
  CHECK(fusion.fusion_kind == "kLoop");
  CHECK(fusion.called == std::vector<int32_t>{0});
  CHECK(fusion.operands == std::vector<int32_t>{4, 5});
  CHECK(fusion.computation == 1);
  CHECK(fusion.parameter_number == -1);
  CHECK(fusion.shape.dims == std::vector<int64_t>{128, 64});
  CHECK(fusion.shape.minor_to_major == std::vector<int64_t>{1, 0});
  CHECK(fusion.shape.bytes() == 128 * 64 * 4);
}

TEST_CASE("hlo reader: attributes") {
  const Node dot = read_hlo_graph(dot_module()).nodes.back();
  CHECK(dot.dot.lhs_contracting == std::vector<int64_t>{2});
  CHECK(dot.dot.rhs_contracting == std::vector<int64_t>{1});
  CHECK(dot.dot.lhs_batch == std::vector<int64_t>{0});
  const Node convolution = read_one("convolution", [](pbf_writer& out) {
    add_message(out, 16, [](pbf_writer& c) {
      for (uint32_t field : {3u, 4u, 7u, 8u, 9u, 10u}) c.add_int64(field, field);
      for (uint32_t field : {6u, 11u, 12u}) add_packed(c, field, {field, field + 1});
    });
    add_message(out, 15, [](pbf_writer& window) {
      add_message(window, 1, [](pbf_writer& d) {
        for (uint32_t field = 1; field <= 6; ++field) d.add_int64(field, field == 3 ? -2 : static_cast<int64_t>(field));
        d.add_bool(7, true);
      });
    });
    out.add_int64(50, 8);
    out.add_int64(58, 2);
  });
  CHECK(convolution.has_convolution);
  CHECK(convolution.convolution.kernel_input_feature == 3);
  CHECK(convolution.convolution.output_feature == 10);
  CHECK(convolution.convolution.output_spatial == std::vector<int64_t>{12, 13});
  CHECK(convolution.feature_group_count == 8);
  CHECK(convolution.batch_group_count == 2);
  REQUIRE(convolution.window.size() == 1);
  CHECK(convolution.window[0].padding_low == -2);
  CHECK(convolution.window[0].base_dilation == 6);
  CHECK(convolution.window[0].reversal);
  const Node slice = read_one("slice", [](pbf_writer& out) {
    add_message(out, 17, [](pbf_writer& d) {
      d.add_int64(2, 8);
      d.add_int64(3, 2);
    });
    add_message(out, 17, [](pbf_writer& d) {
      d.add_int64(1, 1);
      d.add_int64(2, 5);
      d.add_int64(3, 1);
    });
  });
  REQUIRE(slice.slice.size() == 2);
  CHECK(slice.slice[0].start == 0);
  CHECK(slice.slice[1].limit == 5);
  const Node gather = read_one("gather", [](pbf_writer& out) {
    add_message(out, 33, [](pbf_writer& g) {
      add_packed(g, 1, {1});
      add_packed(g, 2, {0});
      g.add_int64(4, 1);
    });
    add_packed(out, 34, {1, 8});
    out.add_bool(67, true);
  });
  CHECK(gather.gather.offset_dims == std::vector<int64_t>{1});
  CHECK(gather.gather.slice_sizes == std::vector<int64_t>{1, 8});
  CHECK(gather.gather.index_vector_dim == 1);
  CHECK(gather.indices_are_sorted);
  CHECK(read_one("compare", [](pbf_writer& out) { out.add_string(63, "LT"); }).comparison == "LT");
  CHECK(read_one("sort", [](pbf_writer& out) { out.add_bool(60, true); }).is_stable);
  const Node pad = read_one("pad", [](pbf_writer& out) {
    add_message(out, 21, [](pbf_writer& p) {
      add_message(p, 1, [](pbf_writer& d) {
        d.add_int64(1, -1);
        d.add_int64(3, 2);
      });
    });
  });
  REQUIRE(pad.padding.size() == 1);
  CHECK(pad.padding[0].low == -1);
  CHECK(pad.padding[0].interior == 2);
}

TEST_CASE("hlo reader: numbers that are not packed, fields it does not know, wrong wire types") {
  const Node node = read_one("transpose", [](pbf_writer& out) {
    out.add_int64(14, 1);
    out.add_int64(14, 0);
    out.add_string(999, "of the future");
    out.add_double(60, 1);  // is_stable is a varint
  });
  CHECK(node.dimensions == std::vector<int64_t>{1, 0});
  CHECK_FALSE(node.is_stable);
}

TEST_CASE("hlo reader: ids that carry their computation in the upper half") {
  int64_t next = (int64_t{7} << 32) + 1;
  ComputationProto entry("main", 7, next);
  const int64_t a = entry.parameter(0, array(kF32, {2}));
  entry.add("n", "negate", array(kF32, {2}), {a});
  CHECK(read_hlo_graph(module("m", {&entry})).nodes[1].operands == std::vector<int32_t>{0});
}

TEST_CASE("hlo reader: broken modules say where") {
  CHECK_THAT(message_of(""), Contains("no instructions"));
  CHECK_THAT(message_of("HloModule text"), Contains("the bytes are not an HLO module"));
  int64_t next = 1;
  ComputationProto wild("main", 1, next);
  wild.add("lonely", "negate", array(kF32, {2}), {77});
  CHECK(message_of(module("m", {&wild})) ==
        "computation main, instruction lonely: the HLO module is broken: operand id 77 does not exist");
  ComputationProto late("main", 1, next = 1);
  late.add("early", "negate", array(kF32, {2}), {2});
  late.parameter(0, array(kF32, {2}));
  CHECK_THAT(message_of(module("m", {&late})), Contains("instruction early") && Contains("operand id 2"));
  ComputationProto caller("main", 1, next = 1);
  caller.add("f", "fusion", array(kF32, {2}), {}, [](pbf_writer& out) { add_packed(out, 38, {9}); });
  CHECK_THAT(message_of(module("m", {&caller})), Contains("instruction f") && Contains("called computation id 9"));
  ComputationProto negative("main", 1, next = 1);
  negative.parameter(0, array(kF32, {-4}));
  CHECK_THAT(message_of(module("m", {&negative})), Contains("negative"));
  ComputationProto empty("main", 1, next);
  CHECK_THAT(message_of(module("m", {&empty})), Contains("computation main") && Contains("no instructions"));
  std::string nested = array(kF32, {});
  for (int depth = 0; depth < 200; ++depth) nested = tuple({nested});
  ComputationProto deep("main", 1, next = 1);
  deep.parameter(0, nested);
  CHECK_THAT(message_of(module("m", {&deep})), Contains("nested too deeply"));
}

TEST_CASE("hlo reader: computations that call themselves, or others for ever") {
  const auto calls = [](int64_t id) { return [id](pbf_writer& out) { add_packed(out, 38, {id, id}); }; };
  int64_t next = 1;
  ComputationProto itself("itself", 1, next);
  itself.add("call", "call", array(kF32, {2}), {}, calls(1));
  CHECK_THAT(message_of(module("m", {&itself})), Contains("computation itself") && Contains("calls itself"));
  ComputationProto one("one", 1, next = 1), other("other", 2, next);
  one.add("a", "call", array(kF32, {2}), {}, calls(2));
  other.add("b", "call", array(kF32, {2}), {}, calls(1));
  CHECK_THAT(message_of(module("m", {&one, &other})), Contains("calls itself"));
  ComputationProto leaf("leaf", 1, next = 1), caller("caller", 2, next);
  leaf.parameter(0, array(kF32, {2}));
  caller.add("c", "call", array(kF32, {2}), {}, calls(1));
  CHECK(read_hlo_graph(module("m", {&leaf, &caller})).nodes.back().called == std::vector<int32_t>{0, 0});
}

TEST_CASE("hlo reader: truncated and damaged bytes are read or refused without a crash") {
  const std::string good = fusion_module() + dot_module();
  int refused = 0;
  for (size_t length = 0; length < fusion_module().size(); ++length)
    refused += !message_of(good.substr(0, length)).empty();
  CHECK(refused > 0);
  Rng rng(7);
  refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips) bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    refused += !message_of(bytes).empty();
  }
  CHECK(refused > 500);
}

TEST_CASE("shapes: elements and bytes") {
  CHECK(Shape{kF32, {}, {}, {}}.bytes() == 4);
  CHECK(Shape{kBf16, {3, 5}, {}, {}}.bytes() == 30);
  CHECK(Shape{21, {3}, {}, {}}.bytes() == 2);  // s4 is packed
  CHECK(Shape{kF32, {0, 5}, {}, {}}.elements() == 0);
  CHECK(Shape{kTuple, {}, {}, {Shape{kF32, {2}, {}, {}}, Shape{kPred, {3}, {}, {}}}}.bytes() == 11);
  CHECK(Shape{kF32, {int64_t{1} << 40, int64_t{1} << 40}, {}, {}}.bytes() == INT64_MAX);
  CHECK(Shape{17, {}, {}, {}}.bytes() == 0);  // a token
}

}  // namespace
}  // namespace hone
