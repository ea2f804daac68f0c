// A compiled program bound to memory; it is timed by the worker and run in a user's process.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "decisions/compiled.h"
#include "decisions/run_settings.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace xla {
class MaybeOwningDeviceAddress;
}

namespace hone::xla_side {

// Asks the kernel for 2 MiB pages where they fit into memory that was allocated elsewhere and is not written yet.
void ask_huge_pages(void* data, size_t size);

// Writes back and drops every cache line of these bytes.
void evict_memory(const void* data, size_t size);

// 64-byte aligned memory; huge = ask the kernel for 2 MiB pages.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(size_t size, bool huge);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  void* data() const { return data_; }
  size_t size() const { return size_; }

  // Keeps up to `bytes` of freed memory for later buffers of the same size, which clear it again: the system takes a second to
  // clear the pages of a gigabyte, writing to pages that are there a tenth of that. 0, the default, keeps nothing.
  static void keep_freed(size_t bytes);

 private:
  void* data_ = nullptr;
  size_t size_ = 0, rounded_ = 0, alignment_ = 64;
};

class ActiveThreads;

// One leaf array of the program's parameters or result.
struct Leaf {
  xla::Shape shape;
  int parameter = 0;      // parameters only
  xla::ShapeIndex index;  // inside the parameter or result tuple
};

// Not thread-safe. Inputs that XLA writes into (donated) are copied before every run.
class Executable {
 public:
  Executable(std::shared_ptr<xla::cpu::CpuExecutable> compiled, const RunSettings& settings);
  ~Executable();

  const std::vector<Leaf>& inputs() const { return inputs_; }
  const std::vector<Leaf>& outputs() const { return outputs_; }
  // The caller's memory; must be 64-byte aligned and stay valid during runs.
  void set_input(size_t leaf, const void* data);
  // Runs write output `leaf` there, from now on; the memory must be 64-byte aligned and stay valid during runs. Null: into memory
  // of its own, as at first. Where the program shares that memory with a constant, an input (donated or not) or another output,
  // output() is elsewhere all the same.
  void set_output(size_t leaf, void* data);
  void refresh_donated();  // must come before each run when has_donated()
  bool has_donated() const { return !donated_.empty(); }
  // Constants, inputs (the first only if `first_input`) and copies of weights that kernels keep leave the caches.
  void evict(bool first_input) const;
  void run();  // throws RunError
  const void* output(size_t leaf) const {
    return static_cast<const char*>(addresses_[results_[leaf].allocation]) + results_[leaf].offset;
  }
  xla::Literal output_literal(size_t leaf) const;
  const xla::HloModule& module() const;
  size_t owned_bytes() const;  // beside the code and the caller's inputs
  // The same code with memory of its own, so that both may run at once where the code keeps no state; no inputs are set.
  std::unique_ptr<Executable> another() const;

 private:
  struct Pool;
  struct Donated {
    size_t leaf;
    void* target;
    const void* source = nullptr;
  };
  // Where a result is: the allocation, and whether set_output() may move that, which is by one leaf at most.
  struct Result {
    int allocation;
    int64_t offset;
    void* own = nullptr;  // the memory that it has otherwise; null: it cannot be moved
  };
  absl::Status run_passively();
  void allocate();
  void find_results();
  void point(int allocation, void* data);

  std::shared_ptr<xla::cpu::CpuExecutable> compiled_;
  RunSettings settings_;
  Pool* pool_ = nullptr;             // either this,
  ActiveThreads* active_ = nullptr;  // or this, whose threads wait actively
  std::vector<Leaf> inputs_, outputs_;
  std::vector<AlignedBuffer> owned_;
  std::vector<void*> addresses_;                  // per allocation
  std::vector<int> input_allocation_;             // per input leaf, -1 when the program does not read it
  std::vector<std::vector<void*>> tuple_tables_;  // for tuple parameters
  std::vector<Donated> donated_;
  std::vector<Result> results_;  // per output leaf
  std::vector<xla::MaybeOwningDeviceAddress> buffers_;
};

}  // namespace hone::xla_side
