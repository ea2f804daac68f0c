// Where XLA's code generation asks for machine code, and Hone answers from earlier compilations (code_cache.h): a fusion's
// kernel before MLIR is emitted for it, any other module before LLVM compiles it. Interposed as in seams.cc, for which
// seams.h says how; with no cache in the table everything is XLA's own.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "decisions/code_cache.h"
#include "decisions/seam_original.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "xla/backends/cpu/codegen/ir_compiler.h"
#include "xla/backends/cpu/codegen/jit_compiler.h"
#include "xla/backends/cpu/codegen/object_loader.h"
#include "xla/codegen/emitters/kernel_api_builder.h"
#include "xla/service/cpu/parallel_fusion_emitter.h"

// LLVM's own functions are hidden in the wheel: what a buffer needs is defined here and stays local (exports.map).
llvm::MemoryBuffer::~MemoryBuffer() {}
void llvm::MemoryBuffer::init(const char* begin, const char* end, bool) {
  BufferStart = begin;
  BufferEnd = end;
}

namespace hone::xla_side {
namespace {

using xla::cpu::FunctionLibrary;

constexpr char kSymbolPrefix[] = "hone_";
constexpr size_t kSymbolDigits = 32;                     // of the key: 128 bits
constexpr uint64_t kLibraryBytes = 256 << 10;            // what a library takes beside its code
constexpr FunctionLibrary::TypeId kLinkedType(1 << 20);  // of kernels from disk: no type of XLA's

std::string symbol_of(const std::string& key) { return kSymbolPrefix + key.substr(0, kSymbolDigits); }

// The kernel that a module of XLA's emitters is for, if it is one of those called by their content.
std::string symbol_in(absl::string_view identifier) {
  const size_t start = identifier.find(kSymbolPrefix);
  return start == absl::string_view::npos
             ? ""
             : std::string(identifier.substr(start, sizeof kSymbolPrefix - 1 + kSymbolDigits));
}

class Object : public llvm::MemoryBuffer {
 public:
  Object(std::string bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {
    init(bytes_.data(), bytes_.data() + bytes_.size(), false);
  }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }
  llvm::StringRef getBufferIdentifier() const override { return llvm::StringRef(name_.data(), name_.size()); }

 private:
  std::string bytes_, name_;
};

// What a compilation linked itself and what it took from earlier ones, as one library.
class SharedLibrary : public FunctionLibrary {
 public:
  SharedLibrary(std::shared_ptr<FunctionLibrary> own, std::map<std::string, LinkedKernel> kernels)
      : own_(std::move(own)), kernels_(kernels.begin(), kernels.end()) {}

 protected:
  absl::StatusOr<void*> ResolveFunction(TypeId type, absl::string_view name) override {
    const auto found = kernels_.find(std::string(name));
    if (found != kernels_.end()) return found->second.address;
    return own_->ResolveFunction(type, name);
  }

 private:
  std::shared_ptr<FunctionLibrary> own_;
  std::unordered_map<std::string, LinkedKernel> kernels_;
};

void note_object(CodeTable& table, std::string_view object) {
  if (table.objects != nullptr) table.objects->emplace_back(object);
}

// Dimensions of a kernel that this compilation has already, one way or the other.
const xla::WorkDimensions* known_here(const CodeTable& table, const std::string& symbol) {
  if (const auto it = table.fresh.find(symbol); it != table.fresh.end()) return &it->second.dimensions;
  if (const auto it = table.reused.find(symbol); it != table.reused.end()) return &it->second.dimensions;
  if (const auto it = table.linked.find(symbol); it != table.linked.end()) return &it->second.dimensions;
  return nullptr;
}

const xla::WorkDimensions* find_earlier(CodeTable& table, const std::string& key, const std::string& symbol) {
  if (std::optional<LinkedKernel> kernel = table.cache->find_linked(key)) {
    ++table.counters.reused;
    table.counters.saved_ms += kernel->compile_ms;
    if (kernel->object) note_object(table, *kernel->object);
    return &table.reused.emplace(symbol, *std::move(kernel)).first->second.dimensions;
  }
  if (std::optional<KernelObject> object = table.cache->find_object(key)) {
    ++table.counters.linked;
    table.counters.saved_ms += object->compile_ms;
    note_object(table, object->object);
    object->key = key;
    return &table.linked.emplace(symbol, *std::move(object)).first->second.dimensions;
  }
  return nullptr;
}

// Moves what was just linked into the cache, and gives the executable one library of all its kernels.
absl::StatusOr<std::unique_ptr<FunctionLibrary>> shared(CodeTable& table, std::unique_ptr<FunctionLibrary> library,
                                                        absl::Span<const FunctionLibrary::Symbol> symbols) {
  const std::shared_ptr<FunctionLibrary> own = std::move(library);
  std::map<std::string, LinkedKernel> kernels = table.reused;
  uint64_t library_bytes = kLibraryBytes + table.other_bytes;
  const auto keep = [&](const std::string& symbol, const std::string& key, LinkedKernel kernel,
                        FunctionLibrary::TypeId type) {
    auto address = own->ResolveFunction(type, symbol);
    if (!address.ok()) return address.status();
    kernel.library = own;
    kernel.address = *address;
    kernel.bytes = (kernel.object ? kernel.object->size() : 0) + std::exchange(library_bytes, 0);
    if (!key.empty()) table.cache->add_linked(key, kernel);
    kernels.emplace(symbol, std::move(kernel));
    return absl::OkStatus();
  };
  for (const auto& symbol : symbols) {
    absl::Status status;
    if (const auto fresh = table.fresh.find(symbol.name); fresh != table.fresh.end())
      status = keep(symbol.name, fresh->second.key,
                    {nullptr, nullptr, fresh->second.dimensions, fresh->second.compile_ms, 0, fresh->second.object},
                    symbol.type_id);
    else if (const auto linked = table.linked.find(symbol.name); linked != table.linked.end())
      status = keep(symbol.name, linked->second.key,
                    {nullptr, nullptr, linked->second.dimensions, linked->second.compile_ms, 0,
                     std::make_shared<const std::string>(linked->second.object)},
                    symbol.type_id);
    if (!status.ok()) return status;
  }
  return std::make_unique<SharedLibrary>(own, std::move(kernels));
}

// LLVM's text of a module, without its number among its neighbours and that of the library it was put into.
std::string ir_key(const CodeTable& table, llvm::Module& module) {
  using Fn = std::string (*)(llvm::Module*);
  static Fn print = original<Fn>(kCodeObjects,
                                 "_ZN3xla7llvm_ir12DumpToStringIN4llvm6ModuleEEENSt7__cxx1112basic_stringIcSt11char_"
                                 "traitsIcESaIcEEEPT_");
  Sha256 hash;
  hash.add("ir").add(table.context);
  const std::string text = print(&module);
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    if (!absl::StartsWith(line, "; ModuleID") && !absl::StrContains(line, "!\"xla_dylib_index\""))
      hash.add(line).add("\n");
  return hash.hex();
}

}  // namespace
}  // namespace hone::xla_side

namespace xla::cpu {

using namespace hone::xla_side;  // NOLINT: the definitions below are XLA's, what they do is Hone's

// Asked once per distinct fusion of a module; emits its MLIR and lets it be lowered on another thread.
absl::StatusOr<KernelSpec> ParallelFusionEmitter::AddFusion(const HloFusionInstruction* fusion) {
  using Fn = absl::StatusOr<KernelSpec> (*)(ParallelFusionEmitter*, const HloFusionInstruction*);
  static Fn fn =
      original<Fn>(kCodeFusions, "_ZN3xla3cpu21ParallelFusionEmitter9AddFusionEPKNS_20HloFusionInstructionE");
  ++seam_state(kCodeFusions).calls;
  CodeTable& table = code_table();
  if (table.cache == nullptr || !seam_state(kCodeFusions).on || use_unique_c_name_) return fn(this, fusion);
  const double start_s = hone::steady_s();
  const std::optional<std::string> key =
      fusion_key(table.context, *fusion, *buffer_assignment_, enable_tiled_emitter_ ? "tiled" : "loop");
  if (!key) return fn(this, fusion);
  const std::string symbol = symbol_of(*key);
  const WorkDimensions* dimensions = known_here(table, symbol);
  if (dimensions == nullptr) dimensions = find_earlier(table, *key, symbol);
  if (dimensions != nullptr) return emitters::GetKernelSpec(symbol, *fusion, buffer_assignment_, *dimensions);
  const CanonicalNames names(*fusion, symbol);
  {
    const std::lock_guard lock(table.mutex);
    table.fresh[symbol].key = *key;
  }
  absl::StatusOr<KernelSpec> spec = fn(this, fusion);
  const std::lock_guard lock(table.mutex);
  if (!spec.ok() || spec->name() != symbol) {
    table.fresh.erase(symbol);
    return spec;
  }
  table.fresh[symbol].dimensions = spec->work_dimensions();
  table.fresh[symbol].compile_ms = hone::ms_since(start_s);
  return spec;
}

// The end of code generation: links all modules that were added, and looks the symbols up.
absl::StatusOr<std::unique_ptr<FunctionLibrary>> JitCompiler::Compile(absl::Span<const Symbol> symbols) && {
  using Fn = absl::StatusOr<std::unique_ptr<FunctionLibrary>> (*)(JitCompiler*, absl::Span<const Symbol>);
  static Fn fn = original<Fn>(kCodeLibrary,
                              "_ZNO3xla3cpu11JitCompiler7CompileEN4absl12lts_202508144SpanIKNS0_15FunctionLibrary6Sym"
                              "bolEEE");
  ++seam_state(kCodeLibrary).calls;
  CodeTable& table = code_table();
  if (table.cache == nullptr) return fn(this, symbols);
  std::vector<Symbol> all(symbols.begin(), symbols.end());
  for (const auto& [symbol, object] : table.linked) all.push_back({kLinkedType, symbol});
  auto library = fn(this, all);
  if (!library.ok()) return library;
  return shared(table, *std::move(library), all);
}

// Within Compile(), before anything is linked.
absl::StatusOr<llvm::orc::SymbolMap> ObjectLoader::LookupSymbols(absl::Span<const Symbol> symbols) {
  using Fn = absl::StatusOr<llvm::orc::SymbolMap> (*)(ObjectLoader*, absl::Span<const Symbol>);
  static Fn fn = original<Fn>(kCodeLinks,
                              "_ZN3xla3cpu12ObjectLoader13LookupSymbolsEN4absl12lts_202508144SpanIKNS0_15FunctionLibra"
                              "ry6SymbolEEE");
  ++seam_state(kCodeLinks).calls;
  CodeTable& table = code_table();
  size_t library = 0;
  if (table.cache != nullptr)
    for (const auto& [symbol, object] : table.linked)
      if (absl::Status status = AddObjFile(object.object, symbol, library++ % num_dylibs()); !status.ok())
        return status;
  return fn(this, symbols);
}

// IrCompiler::operator(): compiles one module, on whatever thread. Defined by its symbol alone, since a class's first virtual
// function brings its table of them with it.
using Compiled = llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>;
Compiled compile_ir(IrCompiler* self, llvm::Module& module) __asm__("_ZN3xla3cpu10IrCompilerclERN4llvm6ModuleE");
Compiled compile_ir(IrCompiler* self, llvm::Module& module) {
  using Fn = Compiled (*)(IrCompiler*, llvm::Module&);
  static Fn fn = original<Fn>(kCodeObjects, "_ZN3xla3cpu10IrCompilerclERN4llvm6ModuleE");
  CodeTable& table = code_table();
  if (table.cache == nullptr || !seam_state(kCodeObjects).on) {
    Compiled result = fn(self, module);
    const std::lock_guard lock(table.mutex);
    if (result) note_object(table, {(*result)->getBufferStart(), (*result)->getBufferSize()});
    return result;
  }
  const double start_s = hone::steady_s();
  const std::string name = module.getModuleIdentifier();
  const std::string symbol = symbol_in(name);
  bool fusion = false;
  {
    const std::lock_guard lock(table.mutex);
    ++seam_state(kCodeObjects).calls;
    fusion = table.fresh.count(symbol) > 0;
  }
  std::string key;
  if (!fusion) {
    key = ir_key(table, module);
    bool from_disk = false;
    if (std::optional<KernelObject> known = table.cache->find_by_ir(key, &from_disk)) {
      const std::lock_guard lock(table.mutex);
      ++(from_disk ? table.counters.linked : table.counters.relinked);
      table.counters.saved_ms += known->compile_ms;
      table.other_bytes += known->object.size();
      note_object(table, known->object);
      return std::unique_ptr<llvm::MemoryBuffer>(new Object(std::move(known->object), name));
    }
  }
  Compiled result = fn(self, module);
  if (!result) return result;
  KernelObject object{std::string((*result)->getBufferStart(), (*result)->getBufferEnd()), {}, hone::ms_since(start_s)};
  std::unique_lock lock(table.mutex);
  ++table.counters.compiled;
  note_object(table, object.object);
  if (fusion) {
    CodeTable::Fresh& fresh = table.fresh[symbol];
    fresh.compile_ms += object.compile_ms;
    fresh.object = std::make_shared<const std::string>(object.object);
    key = fresh.key;
    object.dimensions = fresh.dimensions;
    object.compile_ms = fresh.compile_ms;
  } else {
    table.other_bytes += object.object.size();
  }
  lock.unlock();
  if (fusion)
    table.cache->store_object(key, object);
  else
    table.cache->add_by_ir(key, object);
  return result;
}

}  // namespace xla::cpu
