#include "features/encode.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"
#include "features/columns.h"
#include "features/cpu.h"
#include "features/opcodes.h"
#include "graph/hlo_reader.h"
#include "tests/graph/module_proto.h"

namespace hone::features {
namespace {

using namespace hone::test;
using Catch::Contains;

int column(const std::vector<Column>& columns, const std::string& name) {
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return static_cast<int>(i);
  FAIL("no column " << name);
  return -1;
}

float at(const EncodedKernel& kernel, int node, const std::string& name) {
  return kernel.node_features[node * node_feature_count() + column(node_columns(), name)];
}

float at(const EncodedTile& tile, const std::string& name) { return tile[column(tile_columns(), name)]; }

std::vector<float> six(const EncodedKernel& kernel, int node, const std::string& name, int width) {
  std::vector<float> out;
  for (int i = 0; i < width; ++i) out.push_back(at(kernel, node, name + "_" + std::to_string(i)));
  return out;
}

TEST_CASE("feature tables: names are unique, widths agree, TpuGraphs' columns come first") {
  CHECK(node_feature_count() == static_cast<int>(node_columns().size()));
  CHECK(node_feature_count() == 225);
  CHECK(static_feature_count() == 4);
  CHECK(tile_feature_count() == 24);
  for (const auto* columns : {&node_columns(), &static_columns(), &tile_columns(), &cpu_columns()}) {
    std::map<std::string, int> seen;
    for (const Column& c : *columns) CHECK(++seen[c.name] == 1);
  }
  // Positions from the data set's documentation.
  for (const auto& [name, place] : std::map<std::string, int>{{"is_root", 0},
                                                              {"is_bf16", 15},
                                                              {"shape_dims_0", 21},
                                                              {"shape_dims_product", 28},
                                                              {"parameter_number", 30},
                                                              {"dimensions_0", 31},
                                                              {"window_size_0", 37},
                                                              {"window_window_reversal_0", 85},
                                                              {"convolution_input_batch_dim", 93},
                                                              {"feature_group_count", 107},
                                                              {"slice_start_0", 109},
                                                              {"dynamic_slice_sizes_0", 121},
                                                              {"padding_high_product", 132},
                                                              {"is_stable", 133},
                                                              {"layout_minor_to_major_5", 139},
                                                              {"layout_0", kTpuGraphsFeatures}})
    CHECK(column(node_columns(), name) == place);
}

TEST_CASE("opcodes: TpuGraphs' numbers, then Hone's, unknown is 0") {
  CHECK(opcode_number("abs") == 1);
  CHECK(opcode_number("fusion") == 41);
  CHECK(opcode_number("parameter") == 63);
  CHECK(opcode_number("tan") == 120);
  CHECK(opcode_number("acos") == 121);
  CHECK(opcode_number("topk") == kOpcodeCount - 1);
  CHECK(opcode_number("made-up") == 0);
  CHECK(opcode_name(0) == "unknown");
  CHECK(opcode_name(kOpcodeCount) == "unknown");
  for (int i = 1; i < kOpcodeCount; ++i) {
    INFO(i);
    CHECK(opcode_number(opcode_name(i)) == i);
  }
}

TEST_CASE("encode_kernel: a fusion is its fused computation") {
  const EncodedKernel kernel =
      encode_kernel(read_hlo_graph(fusion_module()), {.flops = 16384, .bytes_read = 65536, .bytes_written = 32768});
  REQUIRE(kernel.nodes() == 4);
  CHECK(kernel.opcodes == std::vector<uint8_t>{63, 63, 2, 57});
  // sum reads p0 and p1; top reads p0 and sum.
  CHECK(kernel.edge_from == std::vector<int32_t>{0, 1, 0, 2});
  CHECK(kernel.edge_to == std::vector<int32_t>{2, 2, 3, 3});
  CHECK(kernel.static_features == std::vector<float>{16384, 65536, 32768, 0});
  CHECK(at(kernel, 3, "is_root") == 1);
  CHECK(at(kernel, 3, "is_fusion_root") == 1);
  CHECK(at(kernel, 3, "is_output") == 1);
  CHECK(at(kernel, 2, "is_fusion_root") == 0);
  CHECK(at(kernel, 0, "reuse") == 2);
  CHECK(at(kernel, 1, "reuse") == 1);
  CHECK(at(kernel, 1, "parameter_number") == 1);
  CHECK(at(kernel, 2, "operands") == 2);
  CHECK(at(kernel, 2, "is_f32") == 1);
  CHECK(six(kernel, 2, "shape_dims", 6) == std::vector<float>{128, 64, 0, 0, 0, 0});
  CHECK(at(kernel, 2, "shape_dims_sum") == 192);
  CHECK(at(kernel, 2, "shape_dims_product") == 8192);
  CHECK(six(kernel, 2, "layout", 3) == std::vector<float>{1, 0, -1});
  CHECK(six(kernel, 2, "strides", 3) == std::vector<float>{64, 1, 0});
  CHECK(at(kernel, 2, "output_bytes") == 32768);
  CHECK(at(kernel, 2, "window_size_product") == 1);  // of nothing
}

TEST_CASE("encode_kernel: a dot is its entry") {
  const EncodedKernel kernel = encode_kernel(read_hlo_graph(dot_module()), {});
  REQUIRE(kernel.nodes() == 3);
  CHECK(kernel.edge_from == std::vector<int32_t>{0, 1});
  CHECK(six(kernel, 2, "dot_lhs_contracting", 2) == std::vector<float>{2, -1});
  CHECK(six(kernel, 2, "dot_rhs_contracting", 2) == std::vector<float>{1, -1});
  CHECK(six(kernel, 2, "dot_rhs_batch", 3) == std::vector<float>{0, -1, -1});
  CHECK(at(kernel, 2, "dot_contracted") == 16);
  CHECK(at(kernel, 2, "is_fusion_root") == 0);
  CHECK(six(kernel, 1, "strides", 3) == std::vector<float>{512, 1, 16});
  CHECK(six(kernel, 0, "dot_lhs_contracting", 2) == std::vector<float>{-1, -1});
}

TEST_CASE("encode_kernel: reductions, comparisons, operands used twice, outputs of a tuple") {
  int64_t next = 1;
  ComputationProto add("add", 1, next), fused("fused", 2, next), entry("main", 3, next);
  const std::string scalar = array(kF32, {}), matrix = array(kF32, {4, 8}), row = array(kF32, {4});
  const int64_t a = add.parameter(0, scalar), b = add.parameter(1, scalar);
  add.add("sum", "add", scalar, {a, b});
  const int64_t x = fused.parameter(0, matrix), zero = fused.add("zero", "constant", scalar);
  const int64_t square = fused.add("square", "multiply", matrix, {x, x});
  const int64_t reduce = fused.add("reduce", "reduce", row, {square, zero}, [](pbf_writer& out) {
    add_packed(out, 14, {1});
    add_packed(out, 38, {1});
  });
  const int64_t compare = fused.add("compare", "compare", array(kPred, {4, 8}), {x, square},
                                    [](pbf_writer& out) { out.add_string(63, "LE"); });
  fused.add("outs", "tuple", tuple({row, array(kPred, {4, 8})}), {reduce, compare});
  const int64_t p = entry.parameter(0, matrix);
  entry.add("fusion", "fusion", tuple({row, array(kPred, {4, 8})}), {p},
            [](pbf_writer& out) { add_packed(out, 38, {2}); });
  const HloGraph graph = read_hlo_graph(module("m", {&add, &fused, &entry}));
  const EncodedKernel kernel = encode_kernel(graph, {});
  REQUIRE(kernel.nodes() == 6);
  CHECK(six(kernel, 3, "reduce_dims", 6) == std::vector<float>{1, -1, -1, -1, -1, -1});
  CHECK(at(kernel, 3, "reduced_elements") == 8);
  CHECK(at(kernel, 3, "reduces_minor") == 1);
  CHECK(at(kernel, 4, "compare_le") == 1);
  CHECK(at(kernel, 4, "compare_lt") == 0);
  CHECK(at(kernel, 4, "is_output") == 1);
  CHECK(at(kernel, 3, "is_output") == 1);
  CHECK(at(kernel, 2, "is_output") == 0);
  // x * x is one edge.
  CHECK(std::count(kernel.edge_to.begin(), kernel.edge_to.end(), 2) == 1);
  CHECK(kernel_output(graph).dims == std::vector<int64_t>{4});
}

TEST_CASE("encode_option: tiles, emitters, flags") {
  const Shape output{kF32, {100, 64}, {1, 0}, {}};
  const EncodedTile tile = encode_option(output, "tile=8,32", false, "4,64");
  REQUIRE(static_cast<int>(tile.size()) == tile_feature_count());
  CHECK(std::vector<float>(tile.begin(), tile.begin() + 8) == std::vector<float>{8, 32, 0, 0, 0, 0, 40, 256});
  CHECK(at(tile, "tiles") == 13 * 2);
  CHECK(at(tile, "tile_bytes") == 1024);
  CHECK(at(tile, "tile_minor") == 32);
  CHECK(at(tile, "covers_minor") == 0);
  CHECK(at(tile, "wasted") == Approx(1 - 6400.0 / (104 * 64)));
  CHECK(at(tile, "tiled_emitter") == 1);
  CHECK(at(tile, "loop_emitter") == 0);
  CHECK(at(tile, "is_default") == 0);

  // The default differs from the same explicit tile only in its flag.
  EncodedTile by_default = encode_option(output, "default", true, "8,32");
  CHECK(at(by_default, "is_default") == 1);
  by_default[column(tile_columns(), "is_default")] = 0;
  CHECK(by_default == tile);

  const EncodedTile loop = encode_option(output, "loop;slp=0;partitions=4", false, "8,32");
  CHECK(at(loop, "loop_emitter") == 1);
  CHECK(at(loop, "tiled_emitter") == 0);
  CHECK(at(loop, "no_slp") == 1);
  CHECK(at(loop, "no_unroll") == 0);
  CHECK(at(loop, "partitions") == 4);
  CHECK(at(loop, "tile_product") == 0);  // of nothing
  CHECK(at(encode_option(output, "default", true, ""), "loop_emitter") == 1);
  CHECK(at(encode_option(output, "loop;unroll=0", false, ""), "no_unroll") == 1);
  CHECK(at(encode_option(output, "loop;size=1", false, ""), "small_code") == 1);
  const EncodedTile eigen = encode_option(output, "eigen", false, "", "dot");
  CHECK(at(eigen, "library_eigen") == 1);
  CHECK(at(eigen, "loop_emitter") == 0);
  CHECK(at(encode_option(output, "naive", false, "", "dot"), "library_naive") == 1);
  CHECK(at(encode_option({kF32, {64, 100}, {0, 1}, {}}, "tile=64,4", false, ""), "covers_minor") == 1);

  CHECK_THROWS_WITH(encode_option(output, "tile=8,x", false, ""),
                    Contains("\"tile=8,x\" is not an option of a kernel"));
  CHECK_THROWS_AS(encode_option(output, "tile=0,8", false, ""), Error);
  CHECK_THROWS_AS(encode_option(output, "tile=", false, ""), Error);
  CHECK_THROWS_WITH(encode_option(output, "turbo", false, ""), Contains("\"turbo\" is not an option of a kernel"));
}

TEST_CASE("encode_graph: edges from users to operands and from callers to roots; splits by name") {
  const EncodedGraph graph = encode_graph(read_hlo_graph(fusion_module()), kTpuGraphsFeatures);
  CHECK(graph.opcodes.size() == 7);
  CHECK(graph.node_features.size() == 7 * 140);
  CHECK(graph.edge_index == std::vector<int64_t>{2, 0, 2, 1, 3, 0, 3, 2, 6, 3, 6, 4, 6, 5});
  CHECK(graph.node_splits == std::vector<int64_t>{0, 7});
  int64_t next = 1;
  ComputationProto body("while_body", 1, next), entry("main", 2, next);
  body.parameter(0, array(kF32, {}));
  entry.parameter(0, array(kF32, {}));
  CHECK(encode_graph(read_hlo_graph(module("m", {&body, &entry})), 140).node_splits == std::vector<int64_t>{0, 1, 2});
}

TEST_CASE("encode_cpu: this machine") {
  const std::vector<float> cpu = encode_cpu(this_cpu(3));
  REQUIRE(cpu.size() == cpu_columns().size());
  CHECK(cpu[0] >= 128);
  CHECK(cpu.back() == 3);
  CHECK(encode_cpu(this_cpu(3, "sse4.2"))[0] == 128);  // what XLA may use, not what there is
  CHECK(encode_cpu(this_cpu(3, "avx2"))[0] == 256);
}

}  // namespace
}  // namespace hone::features
