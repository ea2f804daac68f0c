// A program of a package inside a user's process (runtime.cc gives it a C interface).
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "decisions/lower.h"
#include "decisions/quantized_weights.h"
#include "graph/made_with.h"
#include "measure/executable.h"
#include "xla/literal.h"

namespace hone::xla_side {

// Compiled at once, or where weights are folded into it, at the first run. Thread-safe. Runs go side by side, each in memory of its
// own, unless the program calls kernels that keep something from run to run: then they take turns.
class RuntimeProgram {
 public:
  // `tuned`: under the package's decisions, unless it does not fit this machine or the decisions not the program: warning(). Compiled
  // code is kept in the user's folder of it (base/object_store.h), never beside the package, which may come from others. Throws Error
  // for what is no package.
  // `keep_code`: whether compiled code is read from and kept in that folder.
  RuntimeProgram(const std::string& folder, int threads, bool tuned, bool keep_code = true);

  // As the user gives them: those of the original program.
  const std::vector<xla::Shape>& inputs() const { return given_; }
  const std::vector<xla::Shape>& outputs() const { return outputs_; }
  bool is_weight(int i) const;

  // False where default XLA runs though the tuned program was asked for. May change with the first run, as warning().
  bool as_tuned() const;
  // One line about what differs from where the package was made, and decisions that match nothing; empty without any. May change
  // with the first run.
  std::string warning() const;

  void set_weight(int i, const void* data);
  void run(const void* const* inputs, void* const* outputs);

 private:
  // What one run at a time uses.
  struct Place {
    std::unique_ptr<Executable> executable;
    std::vector<const void*> bound;
    std::vector<AlignedBuffer> scratch;
  };

  void read_decisions(const nlohmann::json& package);
  void fall_back(const std::string& why);
  void prepare();
  void compile();
  void compile_late();
  void use(Place& place, const void* const* inputs, void* const* outputs);
  std::unique_ptr<Place> take_place();
  void give_back(std::unique_ptr<Place> place);
  std::unique_ptr<Place> place_of(std::unique_ptr<Executable> executable) const;
  void bind_weight(Executable& executable, size_t i) const;
  void bind_input(Place& place, size_t i, const void* data) const;
  void take_quantized(int i, const void* data);
  void take_weight(int i, xla::Literal literal);

  std::unique_ptr<xla::HloModule> module_;
  CompileTarget target_;
  Decisions decisions_, unmatched_;
  Fit fit_;
  bool as_tuned_ = true, keep_code_ = true;
  std::vector<xla::Shape> given_, inputs_, outputs_;
  std::map<int, QuantizedWeight> quantized_;  // by parameter
  std::vector<Storage> storage_;
  std::vector<std::unique_ptr<xla::Literal>> weights_;
  std::map<size_t, std::unique_ptr<xla::Literal>> transposed_;
  std::vector<std::unique_ptr<xla::Literal>> replaced_;  // packed weights since the last run

  mutable std::shared_mutex mutex_;  // runs share it; whoever changes weights or code has it alone
  bool compiled_ = false;
  size_t most_places_ = 1;  // 1: runs take turns
  std::mutex places_mutex_;
  std::condition_variable place_free_;
  std::vector<std::unique_ptr<Place>> free_;
  size_t places_ = 0;
  const Executable* first_ = nullptr;  // of one of the places
};

}  // namespace hone::xla_side
