// libhone_runtime.so: tuned programs inside a user's process (see runtime_api.h).
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "decisions/lower.h"
#include "decisions/quantized_weights.h"
#include "decisions/weights.h"
#include "kernels/kept_weights.h"
#include "measure/executable.h"
#include "service/load.h"
#include "service/runtime_api.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

thread_local std::string last_error;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 64 == 0; }

// A program of a package. Compiled at the first run, when constant weights are known.
class RuntimeProgram {
 public:
  RuntimeProgram(const std::string& folder, int threads, bool tuned) {
    const auto json = nlohmann::json::parse(read_text(folder + "/decisions.json"));
    module_ = load_module(read_text(folder + "/program.pb"), folder).module;
    const auto& target = json.at("target");
    target_.threads = threads > 0 ? threads : target.value("threads", 1);
    target_.max_isa = target.value("max_isa", "");  // of both: the duel was under it
    if (tuned) {
      target_.allow_fast_math = target.value("allow_fast_math", false);
      target_.weights = target.value("weights", std::vector<int>());
      for (const auto& d : json.at("decisions"))
        decisions_.push_back(present({decision_kind_from_name(d.at("kind")), d.at("key"), d.at("value")}));
    }
    given_ = given_shapes(*module_);
    for (const QuantizedWeight& q : quantized_weights(*module_)) {
      quantized_.emplace(q.weight, q);
      if (!tuned) target_.weights.push_back(q.weight);  // converted once, as in the tuned program
    }
    const auto* entry = module_->entry_computation();
    for (const auto* p : entry->parameter_instructions()) {
      if (!p->shape().IsArray()) throw Error("parameter " + std::to_string(p->parameter_number()) + " is a tuple");
      inputs_.push_back(p->shape());
    }
    xla::ShapeUtil::ForEachSubshape(entry->root_instruction()->shape(),
                                    [&](const xla::Shape& sub, const xla::ShapeIndex&) {
                                      if (sub.IsArray()) outputs_.push_back(sub);
                                    });
    storage_ = weight_storage(*module_, target_.weights, decisions_);
    weights_.resize(inputs_.size());
    scratch_.resize(inputs_.size());
    const bool needs_values = std::count(storage_.begin(), storage_.end(), Storage::Constant) > 0;
    if (!needs_values) compile();
  }

  // As the user gives them: those of the original program.
  const std::vector<xla::Shape>& inputs() const { return given_; }
  const std::vector<xla::Shape>& outputs() const { return outputs_; }
  bool is_weight(int i) const { return std::count(target_.weights.begin(), target_.weights.end(), i) > 0; }

  void set_weight(int i, const void* data) {
    if (!is_weight(i)) throw Error("input " + std::to_string(i) + " was not declared a weight");
    std::lock_guard lock(mutex_);
    if (quantized_.contains(i))
      take_quantized(i, data);
    else
      take_weight(i, copied(given_[i], data));
  }

  void run(const void* const* inputs, void* const* outputs) {
    std::lock_guard lock(mutex_);
    for (int i : target_.weights)
      if (!weights_[i]) throw Error("weight " + std::to_string(i) + " was never set");
    if (!executable_) compile();
    for (size_t i = 0; i < given_.size(); ++i)
      if (!weights_[i]) bind_input(i, inputs[i]);
    executable_->refresh_donated();
    executable_->run();
    replaced_.clear();
    for (size_t i = 0; i < outputs_.size(); ++i)
      memcpy(outputs[i], executable_->output(i),
             xla::ShapeUtil::ByteSizeOf(executable_->outputs()[i].shape, sizeof(void*)));
  }

 private:
  static xla::Literal copied(const xla::Shape& shape, const void* data) {
    xla::Literal literal(xla::ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), shape.dimensions()));
    // As NumPy's arrays are kept, in which programs without a runtime find their weights.
    ask_huge_pages(literal.untyped_data(), literal.size_bytes());
    memcpy(literal.untyped_data(), data, literal.size_bytes());
    return literal;
  }

  // A weight of f32 in the user's memory.
  void take_quantized(int i, const void* data) {
    const QuantizedWeight& q = quantized_.at(i);
    Quantized made = quantized(copied(given_[i], data), q.channel);
    take_weight(q.weight, copied(made.bytes.shape(), made.bytes.untyped_data()));  // in huge pages
    take_weight(q.factors, std::move(made.factors));
  }

  void take_weight(int i, xla::Literal literal) {
    if (storage_[i] == Storage::Constant) executable_.reset();  // folded: compile again
    // Dots pack anew where the address differs from that of their last run, which must not be freed until the next.
    if (storage_[i] == Storage::Packed) replaced_.push_back(std::move(weights_[i]));
    weights_[i] = std::make_unique<xla::Literal>(std::move(literal));
    if (storage_[i] == Storage::Transposed)
      transposed_[i] = std::make_unique<xla::Literal>(
          weights_[i]->Transpose({1, 0}).Relayout(xla::LayoutUtil::MakeDescendingLayout(2)));
    weights_changed();
    if (executable_) bind_weight(i);
  }

  void compile() {
    std::vector<xla::Literal> values;
    for (size_t i = 0; i < inputs_.size(); ++i) values.push_back(weights_[i] ? weights_[i]->Clone() : xla::Literal());
    Lowered lowered = lower(*module_, target_, decisions_, &values);
    executable_ = std::make_unique<Executable>(generate(std::move(lowered.module), lowered.threads), lowered.threads,
                                               lowered.huge_pages);
    bound_.assign(inputs_.size(), nullptr);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (weights_[i]) bind_weight(i);
  }

  void bind_weight(size_t i) {
    if (storage_[i] == Storage::Constant) return;
    const auto& literal = storage_[i] == Storage::Transposed ? transposed_[i] : weights_[i];
    executable_->set_input(i, literal->untyped_data());
  }

  void bind_input(size_t i, const void* data) {
    if (data == nullptr) throw Error("input " + std::to_string(i) + " is missing");
    if (!aligned(data)) {
      const size_t size = xla::ShapeUtil::ByteSizeOf(inputs_[i], sizeof(void*));
      if (scratch_[i].data() == nullptr) scratch_[i] = AlignedBuffer(size, false);
      memcpy(scratch_[i].data(), data, size);
      data = scratch_[i].data();
    }
    if (bound_[i] == data) return;
    executable_->set_input(i, data);
    bound_[i] = data;
  }

  std::unique_ptr<xla::HloModule> module_;
  CompileTarget target_;
  Decisions decisions_;
  std::vector<xla::Shape> given_, inputs_, outputs_;
  std::map<int, QuantizedWeight> quantized_;  // by parameter
  std::vector<Storage> storage_;
  std::vector<std::unique_ptr<xla::Literal>> weights_;
  std::map<size_t, std::unique_ptr<xla::Literal>> transposed_;
  std::vector<std::unique_ptr<xla::Literal>> replaced_;  // packed weights since the last run
  std::vector<AlignedBuffer> scratch_;
  std::vector<const void*> bound_;
  std::unique_ptr<Executable> executable_;
  std::mutex mutex_;
};

// Runs f; an exception becomes the last error and `failed`.
template <class F, class R>
R guarded(R failed, F f) {
  try {
    return f();
  } catch (const std::exception& e) {
    last_error = e.what();
    return failed;
  }
}

RuntimeProgram& program_of(void* handle) {
  if (handle == nullptr) throw Error("the program handle is null");
  return *static_cast<RuntimeProgram*>(handle);
}

void* load(const char* folder, int threads, bool tuned) {
  return guarded(static_cast<void*>(nullptr), [&]() -> void* { return new RuntimeProgram(folder, threads, tuned); });
}

int describe(const std::vector<xla::Shape>& shapes, int i, int* type, int* rank, int64_t* dims) {
  if (i < 0 || i >= static_cast<int>(shapes.size())) throw Error("there is no array " + std::to_string(i));
  const auto dimensions = shapes[i].dimensions();
  if (dimensions.size() > HONE_MAX_RANK) throw Error("rank above " + std::to_string(HONE_MAX_RANK));
  *type = shapes[i].element_type();
  *rank = dimensions.size();
  std::copy(dimensions.begin(), dimensions.end(), dims);
  return 0;
}

}  // namespace
}  // namespace hone::xla_side

using namespace hone::xla_side;

extern "C" {

const char* hone_last_error(void) { return last_error.c_str(); }
void* hone_program_load(const char* folder, int threads) { return load(folder, threads, true); }
void* hone_program_load_default(const char* folder, int threads) { return load(folder, threads, false); }
void hone_program_free(void* handle) { delete static_cast<RuntimeProgram*>(handle); }
int hone_program_num_inputs(void* handle) {
  return guarded(-1, [&] { return static_cast<int>(program_of(handle).inputs().size()); });
}
int hone_program_num_outputs(void* handle) {
  return guarded(-1, [&] { return static_cast<int>(program_of(handle).outputs().size()); });
}
int hone_program_input_info(void* handle, int i, int* type, int* rank, int64_t* dims) {
  return guarded(-1, [&] { return describe(program_of(handle).inputs(), i, type, rank, dims); });
}
int hone_program_output_info(void* handle, int i, int* type, int* rank, int64_t* dims) {
  return guarded(-1, [&] { return describe(program_of(handle).outputs(), i, type, rank, dims); });
}
int hone_program_input_is_weight(void* handle, int i) {
  return guarded(-1, [&] { return static_cast<int>(program_of(handle).is_weight(i)); });
}
int hone_program_set_weight(void* handle, int i, const void* data) {
  return guarded(-1, [&] {
    program_of(handle).set_weight(i, data);
    return 0;
  });
}
int hone_program_run(void* handle, const void* const* inputs, void* const* outputs) {
  return guarded(-1, [&] {
    program_of(handle).run(inputs, outputs);
    return 0;
  });
}

}  // extern "C"
