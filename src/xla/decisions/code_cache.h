// Machine code of earlier compilations, so that no kernel is compiled twice: in this process as functions that are linked
// already, between processes as objects on disk. Fusions are found by their content before anything is emitted for them,
// all other code by the LLVM IR that was emitted (codegen_seams.cc). Key and what depends on what: docs/decisions/0017.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/object_store.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/runtime/work_dimensions.h"

namespace xla {
class BufferAssignment;
}
namespace xla::cpu {
class FunctionLibrary;
}

namespace hone::xla_side {

// Of one compilation, or added up over several.
struct CodeCounters {
  int64_t reused = 0;    // kernels whose code was in this process
  int64_t linked = 0;    // objects that were read from disk
  int64_t relinked = 0;  // objects, found by their IR, that were in this process
  int64_t compiled = 0;  // modules that LLVM compiled
  int64_t resumed = 0;   // times that XLA's passes began after layout assignment
  double saved_ms = 0;   // what those not compiled took when they were, in emission and LLVM

  CodeCounters& operator+=(const CodeCounters& other);
};

// A linked kernel. The library keeps its code alive.
struct LinkedKernel {
  std::shared_ptr<xla::cpu::FunctionLibrary> library;
  void* address = nullptr;
  xla::WorkDimensions dimensions;
  double compile_ms = 0;
  uint64_t bytes = 0;  // that keeping it costs at most: its object, and for one of each library the rest of that
  std::shared_ptr<const std::string> object = {};
};

// An object that is not linked. Dimensions only of a fusion's kernel.
struct KernelObject {
  std::string object;
  xla::WorkDimensions dimensions;
  double compile_ms = 0;
  std::string key = {};  // of a fusion's kernel
};

// All that was compiled. Thread-safe.
class CodeCache {
 public:
  // Without a store only this process is served.
  explicit CodeCache(std::unique_ptr<ObjectStore> store = nullptr) : store_(std::move(store)) {}

  std::optional<LinkedKernel> find_linked(const std::string& key);
  void add_linked(const std::string& key, LinkedKernel kernel);
  // From disk alone: fusions that this process has compiled are linked.
  std::optional<KernelObject> find_object(const std::string& key);
  void store_object(const std::string& key, const KernelObject& object);
  // By IR, which has no linked form: the object is kept in memory as well.
  std::optional<KernelObject> find_by_ir(const std::string& key, bool* from_disk);
  void add_by_ir(const std::string& key, const KernelObject& object);

  void count(const CodeCounters& counters);
  CodeCounters counters();

 private:
  void remember_ir(const std::string& key, const KernelObject& object);

  std::mutex mutex_;
  std::unique_ptr<ObjectStore> store_;
  std::unordered_map<std::string, LinkedKernel> linked_;
  std::unordered_map<std::string, KernelObject> by_ir_;
  uint64_t linked_bytes_ = 0, ir_bytes_ = 0;
  CodeCounters counters_;
};

// What the seams of code generation consult while one module compiles. Nothing is cached where `cache` is null.
struct CodeTable {
  struct Fresh {
    std::string key;
    xla::WorkDimensions dimensions;
    double compile_ms = 0;
    std::shared_ptr<const std::string> object;
  };

  CodeCache* cache = nullptr;
  std::vector<std::string>* objects = nullptr;  // out, if not null: all objects that the module's code is made of
  std::string context;                          // what code depends on beside the kernel itself
  std::mutex mutex;                             // LLVM compiles on several threads
  std::map<std::string, Fresh> fresh;           // kernels that are compiled now, by symbol
  std::map<std::string, LinkedKernel> reused;   // by symbol
  std::map<std::string, KernelObject> linked;   // by symbol: objects to be linked beside what is compiled
  uint64_t other_bytes = 0;                     // of objects that are no fusion's, in the same library
  CodeCounters counters;
};
CodeTable& code_table();

// One compilation with a cache, which may be null, as `objects` may. The table is empty again after it.
class CodeScope {
 public:
  CodeScope(CodeCache* cache, const xla::HloModule& module, std::vector<std::string>* objects = nullptr);
  ~CodeScope();
  CodeScope(const CodeScope&) = delete;
  CodeScope& operator=(const CodeScope&) = delete;
};

// The key of a fusion's kernel: 64 hexadecimal digits of everything that its code depends on. Null where that cannot be
// said, and nothing is cached. `flags`: the emitter's own.
std::optional<std::string> fusion_key(const std::string& context, const xla::HloFusionInstruction& fusion,
                                      const xla::BufferAssignment& buffers, const std::string& flags);

// What all compilations of this process depend on (builds, processor, XLA's options of the environment) and the purpose, as 64
// hexadecimal digits; empty where that cannot be said.
std::string process_key(std::string_view purpose);

// While it lives, a fusion and all inside it are called by their position, so that the code does not depend on names.
class CanonicalNames {
 public:
  CanonicalNames(const xla::HloFusionInstruction& fusion, const std::string& symbol);
  ~CanonicalNames();
  CanonicalNames(const CanonicalNames&) = delete;
  CanonicalNames& operator=(const CanonicalNames&) = delete;

 private:
  void rename(xla::HloComputation& computation);

  std::map<xla::HloInstruction*, std::string> instructions_;
  std::map<xla::HloComputation*, std::string> computations_;
};

}  // namespace hone::xla_side
