// The time to compute the features of a program: a module of about 5,000 instructions, from its serialised form to
// arrays.
//   build/bench_features [INSTRUCTIONS [ROUNDS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../tests/graph/module_proto.h"
#include "features/encode.h"
#include "graph/hlo_reader.h"

namespace {

using namespace hone::test;

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Blocks of dot, reshape, broadcast, add, maximum, transpose, slice, multiply, each on the one before.
std::string program(int instructions) {
  int64_t next = 1;
  ComputationProto entry("main", 1, next);
  const std::string x = array(kF32, {256, 512}), w = array(kF32, {512, 512}), bias = array(kF32, {512});
  int64_t at = entry.parameter(0, x);
  const int64_t weight = entry.parameter(1, w), offset = entry.parameter(2, bias);
  for (int made = 3; made < instructions; made += 8) {
    const int64_t dot = entry.add("dot", "dot", x, {at, weight}, [](pbf_writer& out) {
      add_message(out, 30, [](pbf_writer& d) {
        add_packed(d, 1, {1});
        add_packed(d, 2, {0});
      });
    });
    const int64_t wide = entry.add("wide", "broadcast", x, {offset}, [](pbf_writer& out) { add_packed(out, 14, {1}); });
    const int64_t sum = entry.add("sum", "add", x, {dot, wide});
    const int64_t top = entry.add("top", "maximum", x, {sum, dot});
    const int64_t turned = entry.add("turned", "transpose", array(kF32, {512, 256}), {top},
                                     [](pbf_writer& out) { add_packed(out, 14, {1, 0}); });
    const int64_t back =
        entry.add("back", "transpose", x, {turned}, [](pbf_writer& out) { add_packed(out, 14, {1, 0}); });
    const int64_t part = entry.add("part", "slice", x, {back}, [](pbf_writer& out) {
      for (int64_t limit : {256, 512})
        add_message(out, 17, [&](pbf_writer& s) {
          s.add_int64(2, limit);
          s.add_int64(3, 1);
        });
    });
    at = entry.add("next", "multiply", x, {part, at});
  }
  return module("bench", {&entry});
}

}  // namespace

int main(int argc, char** argv) {
  const int instructions = argc > 1 ? std::atoi(argv[1]) : 5000, rounds = argc > 2 ? std::atoi(argv[2]) : 21;
  const std::string bytes = program(instructions);
  std::vector<double> read_ms, encode_ms;
  size_t nodes = 0;
  for (int i = 0; i < rounds; ++i) {
    auto start = std::chrono::steady_clock::now();
    const hone::HloGraph graph = hone::read_hlo_graph(bytes);
    read_ms.push_back(ms_since(start));
    start = std::chrono::steady_clock::now();
    const auto encoded = hone::features::encode_graph(graph, hone::features::node_feature_count());
    encode_ms.push_back(ms_since(start));
    nodes = encoded.opcodes.size();
  }
  for (auto* times : {&read_ms, &encode_ms}) std::sort(times->begin(), times->end());
  const double read = read_ms[rounds / 2], encode = encode_ms[rounds / 2];
  std::printf(
      "%zu instructions x %d features: read %.2f ms, encode %.2f ms, together %.2f ms (median of %d; best %.2f)\n",
      nodes, hone::features::node_feature_count(), read, encode, read + encode, rounds, read_ms[0] + encode_ms[0]);
}
