#include "measure/executable.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/mman.h>

#include <cstdlib>
#include <list>
#include <mutex>
#include <utility>

#include "kernels/kept_weights.h"
#include "measure/active_run.h"
#include "measure/xla_arithmetic.h"
#include "status.h"
#include "xla_pch.h"
#define EIGEN_USE_THREADS
#include "tsl/platform/env.h"
#include "tsl/platform/threadpool.h"
#include "unsupported/Eigen/CXX11/Tensor"
#include "xla/executable_run_options.h"
#include "xla/service/buffer_assignment.h"
#include "xla/service/cpu/cpu_executable.h"

namespace hone::xla_side {

namespace {

constexpr size_t kLeastKept = size_t{1} << 20;
constexpr size_t kHuge = size_t{2} << 20;

// Memory of buffers that are gone.
class FreedMemory {
 public:
  void limit(size_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    shrink(limit_);
  }
  // Null when there is none of this size and alignment.
  void* take(size_t rounded, size_t alignment) {
    const std::lock_guard lock(mutex_);
    for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
      if (it->rounded == rounded && it->alignment == alignment) {
        void* data = it->data;
        held_ -= rounded;
        blocks_.erase(it);
        return data;
      }
    return nullptr;
  }
  void give(void* data, size_t rounded, size_t alignment) {
    const std::lock_guard lock(mutex_);
    if (rounded < kLeastKept || rounded > limit_) return std::free(data);
    shrink(limit_ - rounded);
    blocks_.push_back({data, rounded, alignment});
    held_ += rounded;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    shrink(0);
  }

 private:
  struct Block {
    void* data;
    size_t rounded, alignment;
  };
  void shrink(size_t bytes) {
    while (held_ > bytes) {
      std::free(blocks_.front().data);
      held_ -= blocks_.front().rounded;
      blocks_.pop_front();
    }
  }
  std::mutex mutex_;
  std::list<Block> blocks_;  // the first freed first
  size_t held_ = 0, limit_ = 0;
};

FreedMemory& freed() {
  static FreedMemory& memory = *new FreedMemory;  // buffers of other statics may be freed after it
  return memory;
}

}  // namespace

namespace {

constexpr size_t kCacheLine = 64;

bool has_clflushopt() {
  constexpr unsigned kClflushopt = 1U << 23;  // CPUID leaf 7, EBX: Intel's Software Developer's Manual, volume 2A
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kClflushopt) != 0;
}

// Lines in any order: several times as fast as one after the other.
__attribute__((target("clflushopt"))) void evict_unordered(char* from, const char* end) {
  for (; from < end; from += kCacheLine) _mm_clflushopt(from);
}

}  // namespace

void evict_memory(const void* data, size_t size) {
  static const bool unordered = has_clflushopt();
  auto* const from = static_cast<char*>(const_cast<void*>(data));
  if (unordered)
    evict_unordered(from, from + size);
  else
    for (char* line = from; line < from + size; line += kCacheLine) _mm_clflush(line);
  _mm_mfence();
}

void ask_huge_pages(void* data, size_t size) {
  const auto begin = (reinterpret_cast<uintptr_t>(data) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<uintptr_t>(data) + size) / kHuge * kHuge;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

AlignedBuffer::AlignedBuffer(size_t size, bool huge) : size_(size) {
  alignment_ = huge && size >= kHuge ? kHuge : 64;
  rounded_ = (std::max<size_t>(size, 64) + alignment_ - 1) / alignment_ * alignment_;
  data_ = freed().take(rounded_, alignment_);
  if (data_ == nullptr) data_ = std::aligned_alloc(alignment_, rounded_);
  if (data_ == nullptr) {
    freed().release();
    data_ = std::aligned_alloc(alignment_, rounded_);
  }
  if (data_ == nullptr) throw StageError(Stage::Run, "out of memory: " + std::to_string(size) + " bytes");
  if (alignment_ == kHuge) madvise(data_, rounded_, MADV_HUGEPAGE);
  memset(data_, 0, rounded_);
}
AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) freed().give(data_, rounded_, alignment_);
}
AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      rounded_(other.rounded_),
      alignment_(other.alignment_) {}
AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(rounded_, other.rounded_);
  std::swap(alignment_, other.alignment_);
  return *this;
}
void AlignedBuffer::keep_freed(size_t bytes) { freed().limit(bytes); }

struct Executable::Pool {
  explicit Pool(int threads) : pool(tsl::Env::Default(), "hone", threads), device(pool.AsEigenThreadPool(), threads) {}
  tsl::thread::ThreadPool pool;
  Eigen::ThreadPoolDevice device;
};

namespace {

std::vector<Leaf> leaves_of(const xla::Shape& shape, int parameter) {
  std::vector<Leaf> leaves;
  xla::ShapeUtil::ForEachSubshape(shape, [&](const xla::Shape& sub, const xla::ShapeIndex& index) {
    if (sub.IsArray()) leaves.push_back({sub, parameter, index});
  });
  return leaves;
}

// One for each number of threads. Never freed, since a process that was forked has none of the threads that would have to end.
template <class Threads>
Threads* threads_of_process(int count) {
  static std::mutex mutex;
  static auto& of_count = *new std::unordered_map<int, std::unique_ptr<Threads>>;
  const std::lock_guard lock(mutex);
  auto& threads = of_count[count];
  if (!threads) threads = std::make_unique<Threads>(count);
  return threads.get();
}

}  // namespace

Executable::Executable(std::shared_ptr<xla::cpu::CpuExecutable> compiled, const RunSettings& settings)
    : compiled_(std::move(compiled)), settings_(settings) {
  if (settings.active_wait && settings.threads > 1)
    active_ = threads_of_process<ActiveThreads>(settings.threads);
  else
    pool_ = threads_of_process<Pool>(settings.threads);  // libraries need a pool even for one thread
  const auto& layout = module().entry_computation_layout();
  for (int i = 0; i < layout.parameter_count(); ++i)
    for (Leaf& leaf : leaves_of(layout.parameter_shape(i), i)) inputs_.push_back(std::move(leaf));
  outputs_ = leaves_of(layout.result_shape(), 0);
  allocate();
  find_results();
}

std::unique_ptr<Executable> Executable::another() const { return std::make_unique<Executable>(compiled_, settings_); }

Executable::~Executable() = default;

const xla::HloModule& Executable::module() const { return compiled_->module(); }

void Executable::allocate() {
  const auto& allocations = compiled_->buffer_assignment().Allocations();
  addresses_.assign(allocations.size(), nullptr);
  input_allocation_.assign(inputs_.size(), -1);
  for (const auto& allocation : allocations) {
    if (allocation.is_constant() || allocation.is_thread_local()) continue;
    if (!allocation.is_entry_computation_parameter()) {
      owned_.emplace_back(allocation.size(), settings_.huge_pages);
      addresses_[allocation.index()] = owned_.back().data();
      continue;
    }
    for (size_t leaf = 0; leaf < inputs_.size(); ++leaf) {
      if (inputs_[leaf].parameter != allocation.parameter_number() ||
          inputs_[leaf].index != allocation.param_shape_index())
        continue;
      input_allocation_[leaf] = allocation.index();
      if (allocation.maybe_live_out()) {  // the program writes here: give it its own copy
        owned_.emplace_back(allocation.size(), settings_.huge_pages);
        addresses_[allocation.index()] = owned_.back().data();
        donated_.push_back({leaf, owned_.back().data()});
      }
    }
    if (addresses_[allocation.index()] == nullptr) {  // the table of a tuple parameter, or an unread leaf
      owned_.emplace_back(allocation.size(), false);
      addresses_[allocation.index()] = owned_.back().data();
    }
  }
  for (const auto& constant : compiled_->constants())
    if (constant.index >= 0) addresses_[constant.index] = constant.AsDeviceAddress().opaque();  // -1: folded into code
  for (const auto& allocation : allocations)
    buffers_.emplace_back(stream_executor::DeviceAddressBase(addresses_[allocation.index()], allocation.size()));
}

void Executable::evict(bool first_input) const {
  for (const auto& constant : compiled_->constants()) {
    const auto memory = constant.AsDeviceAddress();
    evict_memory(memory.opaque(), memory.size());
  }
  for (size_t leaf = first_input ? 0 : 1; leaf < inputs_.size(); ++leaf)
    if (input_allocation_[leaf] >= 0)
      evict_memory(addresses_[input_allocation_[leaf]], xla::ShapeUtil::ByteSizeOf(inputs_[leaf].shape));
  for_each_kept(evict_memory);
}

size_t Executable::owned_bytes() const {
  size_t bytes = 0;
  for (const AlignedBuffer& buffer : owned_) bytes += buffer.size();
  return bytes;
}

void Executable::find_results() {
  const auto* root = module().entry_computation()->root_instruction();
  for (const Leaf& leaf : outputs_) {
    const auto slice = take(compiled_->buffer_assignment().GetUniqueSlice(root, leaf.index), "output buffer");
    const auto& allocation = *slice.allocation();
    Result result{static_cast<int>(slice.index()), slice.offset()};
    const bool whole = slice.offset() == 0 && allocation.size() == xla::ShapeUtil::ByteSizeOf(leaf.shape);
    const bool taken = std::any_of(results_.begin(), results_.end(), [&](const Result& other) {
      return other.allocation == result.allocation && other.own != nullptr;
    });
    const bool free =
        !allocation.is_constant() && !allocation.is_tuple() && !allocation.is_entry_computation_parameter();
    if (whole && free && !taken) result.own = addresses_[result.allocation];
    results_.push_back(result);
  }
}

void Executable::point(int allocation, void* data) {
  addresses_[allocation] = data;
  buffers_[allocation] = stream_executor::DeviceAddressBase(data, buffers_[allocation].AsDeviceAddress().size());
}

void Executable::set_output(size_t leaf, void* data) {
  const Result& result = results_[leaf];
  if (result.own == nullptr) return;
  point(result.allocation, data != nullptr ? data : result.own);
}

void Executable::set_input(size_t leaf, const void* data) {
  for (Donated& donated : donated_)
    if (donated.leaf == leaf) {
      donated.source = data;
      return;
    }
  const int index = input_allocation_[leaf];
  if (index < 0) return;
  point(index, const_cast<void*>(data));
  // An output may be a parameter passed through; a tuple's own table holds its leaves' addresses.
  for (const auto& table : compiled_->buffer_assignment().Allocations())
    if (table.is_entry_computation_parameter() && table.parameter_number() == inputs_[leaf].parameter &&
        inputs_[leaf].index.size() == 1 && table.param_shape_index().empty())
      static_cast<void**>(addresses_[table.index()])[inputs_[leaf].index[0]] = addresses_[index];
}

void Executable::refresh_donated() {
  for (const Donated& donated : donated_)
    if (donated.source != nullptr)
      memcpy(donated.target, donated.source, xla::ShapeUtil::ByteSizeOf(inputs_[donated.leaf].shape, sizeof(void*)));
}

absl::Status Executable::run_passively() {
  xla::ExecutableRunOptions options;
  options.set_device_ordinal(0);
  options.set_intra_op_thread_pool(&pool_->device);
  return compiled_->ExecuteThunks(&options, buffers_);
}

void Executable::run() {
  const ScopedXlaArithmetic arithmetic;
  const absl::Status status = active_ != nullptr ? active_->run(*compiled_, buffers_) : run_passively();
  if (!status.ok()) throw StageError(Stage::Run, "run: " + one_line(status.message()));
}

xla::Literal Executable::output_literal(size_t leaf) const {
  xla::Literal literal(outputs_[leaf].shape);
  memcpy(literal.untyped_data(), output(leaf), literal.size_bytes());
  return literal;
}

}  // namespace hone::xla_side
