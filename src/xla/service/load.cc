#include "service/load.h"

#include "absl/strings/match.h"
#include "decisions/host_kernels.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "service/lapack_calls.h"
#include "service/stablehlo_text.h"
#include "status.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/hlo.pb.h"
#include "xla_pch.h"

namespace xla {
// Exported by the wheel; its header needs MLIR's.
absl::Status ParseMlirModuleStringAndConvertToXlaComputation(absl::string_view text, XlaComputation& computation,
                                                             bool use_tuple_args, bool return_tuple);
// As in xla/service/hlo_module_util.h, which includes all of the compiler: half a minute.
absl::StatusOr<std::unique_ptr<HloModule>> CreateModuleFromProto(const HloModuleProto& proto,
                                                                 const DebugOptions& options);
}  // namespace xla

namespace hone::xla_side {
namespace {

constexpr char kMlirMagic[] = "ML\xefR";

// The MLIR bytecode inside a jax.export file: a flatbuffer whose table keeps it in vtable slot 30.
absl::string_view jax_export_bytecode(absl::string_view b) {
  auto u32 = [&](size_t at) -> uint32_t {
    uint32_t v = 0;
    if (at + 4 <= b.size()) memcpy(&v, b.data() + at, 4);
    return v;
  };
  auto u16 = [&](size_t at) -> uint16_t {
    uint16_t v = 0;
    if (at + 2 <= b.size()) memcpy(&v, b.data() + at, 2);
    return v;
  };
  const size_t table = u32(0);
  if (table + 4 > b.size()) return {};
  const int64_t vtable = static_cast<int64_t>(table) - static_cast<int32_t>(u32(table));
  if (vtable < 0 || vtable + 32 > static_cast<int64_t>(b.size()) || u16(vtable) <= 30) return {};
  const size_t slot = u16(vtable + 30);
  if (slot == 0) return {};
  size_t at = table + slot;
  at += u32(at);
  const size_t size = u32(at);
  at += 4;
  if (at > b.size() || size > b.size() - at) return {};
  const absl::string_view found = b.substr(at, size);
  return found.substr(0, 4) == absl::string_view(kMlirMagic, 4) ? found : absl::string_view();
}

struct Quiet : google::protobuf::io::ErrorCollector {
  void RecordError(int, google::protobuf::io::ColumnNumber, absl::string_view) override {}
};

template <class Proto>
bool parse(const std::string& bytes, bool text, Proto& proto) {
  proto.Clear();
  if (!text) return proto.ParseFromArray(bytes.data(), bytes.size());
  google::protobuf::TextFormat::Parser parser;
  Quiet quiet;
  parser.RecordErrorsTo(&quiet);
  return parser.ParseFromString(bytes, &proto);
}

LoadedModule from_mlir(absl::string_view text, const char* format) {
  xla::XlaComputation computation;
  check(xla::ParseMlirModuleStringAndConvertToXlaComputation(text, computation, false, false), "cannot read StableHLO",
        true);
  LoadedModule loaded;
  loaded.module = module_from_proto(computation.proto());
  loaded.format = format;
  return loaded;
}

bool looks_like_text(const std::string& bytes) {
  const size_t n = std::min<size_t>(bytes.size(), 4096);
  for (size_t i = 0; i < n; ++i) {
    const unsigned char c = bytes[i];
    if (c < 9 || (c > 13 && c < 32)) return false;
  }
  return true;
}

template <class Arguments>
std::vector<xla::Literal> literals(const Arguments& protos) {
  std::vector<xla::Literal> out;
  for (const auto& proto : protos) out.push_back(take(xla::Literal::CreateFromProto(proto), "snapshot input", true));
  return out;
}

std::optional<LoadedModule> from_protos(const std::string& bytes, bool text) {
  const std::string suffix = text ? "-text" : "";
  LoadedModule loaded;
  xla::HloModuleProto module;
  if (parse(bytes, text, module) && module.computations_size() > 0 && !module.entry_computation_name().empty()) {
    loaded.module = module_from_proto(module);
    loaded.format = "hlo-module-proto" + suffix;
    return loaded;
  }
  xla::HloProto hlo;
  if (parse(bytes, text, hlo) && hlo.hlo_module().computations_size() > 0) {
    loaded.module = module_from_proto(hlo.hlo_module());
    loaded.format = "hlo-proto" + suffix;
    return loaded;
  }
  xla::HloSnapshot snapshot;
  if (parse(bytes, text, snapshot) && snapshot.hlo().hlo_module().computations_size() > 0) {
    loaded.module = module_from_proto(snapshot.hlo().hlo_module());
    loaded.inputs = literals(snapshot.arguments());
    loaded.format = "hlo-snapshot" + suffix;
    return loaded;
  }
  xla::HloUnoptimizedSnapshot unoptimized;
  if (parse(bytes, text, unoptimized) && unoptimized.hlo_module().computations_size() > 0) {
    loaded.module = module_from_proto(unoptimized.hlo_module());
    if (unoptimized.partitions_size() > 0) loaded.inputs = literals(unoptimized.partitions(0).arguments());
    loaded.format = "hlo-unoptimized-snapshot" + suffix;
    return loaded;
  }
  return std::nullopt;
}

LoadedModule recognise(const std::string& bytes) {
  if (bytes.compare(0, 4, kMlirMagic, 4) == 0) return from_mlir(bytes, "mlir-bytecode");
  if (auto bytecode = jax_export_bytecode(bytes); !bytecode.empty()) return from_mlir(bytecode, "jax-export");
  const bool text = looks_like_text(bytes);
  const bool function = bytes.find("func.func") != std::string::npos || bytes.find("func @") != std::string::npos;
  if (text && function) {
    const CleanText clean = clean_stablehlo(bytes);
    LoadedModule loaded = from_mlir(clean.text, "mlir-text");
    loaded.left_out = clean.left_out;
    loaded.left_out_parameters = clean.parameters;
    return loaded;
  }
  if (text && bytes.find("HloModule") != std::string::npos) {
    LoadedModule loaded;
    auto parsed = take(xla::ParseAndReturnUnverifiedModule(bytes), "cannot parse HLO text", true);
    loaded.module = module_from_proto(parsed->ToProto());
    loaded.format = "hlo-text";
    loaded.left_out = occurrences(bytes, "constant({...})");  // XLA's parser invents them
    return loaded;
  }
  if (auto loaded = from_protos(bytes, text)) return std::move(*loaded);
  throw Error("unknown program format: not HLO text, HLO protobuf, StableHLO or jax.export file", "",
              "see 'hone inspect --help' for the formats");
}

xla::Shape default_layout(const xla::Shape& shape) {
  xla::Shape out = shape;
  xla::ShapeUtil::ForEachMutableSubshape(&out, [](xla::Shape* sub, const xla::ShapeIndex&) {
    if (sub->IsArray()) *sub->mutable_layout() = xla::LayoutUtil::GetDefaultLayoutForShape(*sub);
  });
  return out;
}

}  // namespace

std::unique_ptr<xla::HloModule> module_from_proto(const xla::HloModuleProto& proto) {
  auto module = take(xla::CreateModuleFromProto(proto, xla::GetDebugOptionsFromFlags()), "invalid HLO", true);
  if (module->entry_computation() == nullptr) throw Error("the HLO module has no entry computation");
  auto& config = module->mutable_config();
  config.set_num_partitions(1);
  config.set_replica_count(1);
  config.set_static_device_assignment(xla::DeviceAssignment(1, 1));
  config.set_intra_op_parallelism_threads(1);
  for (auto* computation : module->computations()) computation->SetExecutionThread("main");
  xla::ProgramShape shape = module->entry_computation()->ComputeProgramShape();
  for (int i = 0; i < shape.parameters_size(); ++i) *shape.mutable_parameters(i) = default_layout(shape.parameters(i));
  *shape.mutable_result() = default_layout(shape.result());
  *module->mutable_entry_computation_layout() = xla::ComputationLayout(shape);
  return module;
}

LoadedModule load_module(const std::string& bytes, const std::string& name) {
  if (bytes.empty()) throw Error("the program is empty", name);
  register_lapack_calls();
  LoadedModule loaded = recognise(bytes);
  // Our kernels trust the sizes that rewrites give them.
  for (const auto* computation : loaded.module->computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kCustomCall &&
          absl::StartsWith(instruction->custom_call_target(), kHostKernelPrefix))
        throw Error("custom calls of '" + instruction->custom_call_target() + "' are Hone's own", name,
                    "give the program before Hone rewrote it");
  return loaded;
}

}  // namespace hone::xla_side
