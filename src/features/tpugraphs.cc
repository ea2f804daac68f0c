#include "features/tpugraphs.h"

#include <algorithm>
#include <optional>
#include <protozero/pbf_reader.hpp>

#include "base/error.h"
#include "features/columns.h"
#include "features/node_features.h"
#include "features/opcodes.h"
#include "graph/hlo_reader.h"

namespace hone::features {
namespace {

using protozero::pbf_wire_type;
using Reader = protozero::pbf_reader;

constexpr uint32_t number(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::varint); }
constexpr uint32_t block(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::length_delimited); }

void append(Reader& in, std::vector<int64_t>& out) {
  if (in.wire_type() == pbf_wire_type::varint) {
    out.push_back(in.get_int64());
    return;
  }
  for (int64_t value : in.get_packed_int64()) out.push_back(value);
}

// The message in the last field `field` of `in`, if there is one.
std::optional<Reader> inner(Reader in, uint32_t field) {
  std::optional<Reader> found;
  while (in.next())
    if (in.tag_and_type() == block(field))
      found = in.get_message();
    else
      in.skip();
  return found;
}

// clang-format off: one field per line
TileBounds read_tile(Reader in) {
  TileBounds tile;
  while (in.next()) switch (in.tag_and_type()) {
      case number(1): case block(1): append(in, tile.kernel); break;
      case number(2): case block(2): append(in, tile.output); break;
      case number(3): case block(3): append(in, tile.input); break;
      case number(4): case block(4): append(in, tile.iteration); break;
      default: in.skip();
    }
  return tile;
}

// The repeated messages in field 1, each read by `read`: LayoutConfig holds nodes, they tensors.
template <class Read>
auto read_list(Reader in, Read read) {
  std::vector<decltype(read(in))> out;
  while (in.next())
    if (in.tag_and_type() == block(1)) out.push_back(read(in.get_message()));
    else in.skip();
  return out;
}

std::vector<int64_t> read_axes(Reader in) {
  std::vector<int64_t> out;
  while (in.next()) switch (in.tag_and_type()) {
      case number(1): case block(1): append(in, out); break;
      default: in.skip();
    }
  return out;
}

int64_t read_runtime(Reader in) {
  int64_t runtime_ns = 0;
  while (in.next())
    if (in.tag_and_type() == number(5)) runtime_ns = in.get_int64();
    else in.skip();
  return runtime_ns;
}

TuningRun read_run(Reader in) {
  TuningRun run;
  while (in.next()) switch (in.tag_and_type()) {
      case block(1):
        if (const auto tile = inner(in.get_message(), 1)) run.tile = read_tile(*tile);
        break;
      case block(2):
        if (const auto layouts = inner(in.get_message(), 1))
          run.layouts = read_list(*layouts, [](Reader node) { return read_list(node, read_axes); });
        break;
      case number(3): run.failed = in.get_bool(); break;
      case block(4): run.runtime_ns = read_runtime(in.get_message()); break;
      case number(5): run.is_default = in.get_bool(); break;
      default: in.skip();
    }
  return run;
}

TuningModule read_module(Reader in) {
  TuningModule module;
  bool has_graph = false;
  while (in.next()) switch (in.tag_and_type()) {
      case block(1): {
        const auto bytes = in.get_view();
        module.graph = read_hlo_graph({bytes.data(), bytes.size()});
        has_graph = true;
        break;
      }
      case number(2): module.fingerprint = in.get_uint64(); break;
      case block(3): module.runs.push_back(read_run(in.get_message())); break;
      case number(4): case block(4): append(in, module.configurable); break;
      default: in.skip();
    }
  if (!has_graph) throw Error("a module of the tuning data has no HLO", "tuning data");
  for (int64_t node : module.configurable)
    if (node < 0 || node >= static_cast<int64_t>(module.graph.nodes.size()))
      throw Error("configurable node " + std::to_string(node) + " is not in the module", "tuning data");
  return module;
}

// clang-format on

// TuningData's field 1 is a list of modules; ModuleTuningData's is the HLO, and fields 2 to 4 are further data.
bool is_one_module(Reader in) {
  while (in.next()) {
    if (in.tag() != 1) return true;
    in.skip();
  }
  return false;
}

}  // namespace

std::vector<TuningModule> read_tuning_data(std::string_view bytes) {
  try {
    const Reader in(bytes.data(), bytes.size());
    if (bytes.empty()) throw Error("the file is empty", "tuning data");
    if (is_one_module(in)) return {read_module(in)};
    return read_list(in, read_module);
  } catch (const protozero::exception& e) {
    throw Error(std::string("the bytes are not TpuGraphs tuning data: ") + e.what(), "tuning data");
  }
}

std::vector<float> encode_tile_config(const TileBounds& tile) {
  std::vector<float> out;
  for (const auto* list : {&tile.kernel, &tile.output, &tile.input}) {
    double sum = 0, product = list->empty() ? 0 : 1;
    for (size_t i = 0; i < 6; ++i) out.push_back(i < list->size() ? static_cast<float>((*list)[i]) : 0.0f);
    for (int64_t value : *list) {
      sum += static_cast<double>(value);
      product *= static_cast<double>(value);
    }
    out.push_back(static_cast<float>(sum));
    out.push_back(static_cast<float>(product));
  }
  return out;
}

std::vector<float> encode_layout_config(const TuningRun& run) {
  std::vector<float> out;
  out.reserve(run.layouts.size() * 18);
  for (const auto& tensors : run.layouts)
    for (size_t t = 0; t < 3; ++t)
      for (size_t i = 0; i < 6; ++i)
        out.push_back(t < tensors.size() && i < tensors[t].size() ? static_cast<float>(tensors[t][i]) : -1.0f);
  return out;
}

EncodedGraph encode_tile_graph(const HloGraph& module) {
  const Node& root = module.nodes[module.computations[module.entry].root];
  if (root.opcode == "fusion" && root.called.empty()) throw Error("the fusion has no computation", root.name);
  const Computation& computation = module.computations[root.opcode == "fusion" ? root.called[0] : module.entry];
  const NodeSurroundings around = surroundings(module);
  EncodedGraph out;
  out.width = kTpuGraphsFeatures;
  out.node_features.resize(static_cast<size_t>(computation.last - computation.first) * kTpuGraphsFeatures);
  for (int32_t i = computation.first; i < computation.last; ++i) {
    const Node& n = module.nodes[i];
    const size_t row = i - computation.first;
    out.opcodes.push_back(opcode_number(n.opcode));
    write_node_features(module, around, i,
                        {out.node_features.data() + row * kTpuGraphsFeatures, size_t{kTpuGraphsFeatures}});
    std::vector<int32_t> operands = n.operands;
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    for (int32_t operand : operands)
      out.edge_index.insert(out.edge_index.end(), {static_cast<int64_t>(row), operand - computation.first});
  }
  return out;
}

}  // namespace hone::features
