#include "service/runtime_program.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/isa.h"
#include "base/json_text.h"
#include "decisions/code_cache.h"
#include "decisions/weights.h"
#include "kernels/kept_weights.h"
#include "service/load.h"
#include "service/versions.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 64 == 0; }

xla::Literal copied(const xla::Shape& shape, const void* data) {
  xla::Literal literal(xla::ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), shape.dimensions()));
  // As NumPy's arrays are kept, in which programs without a runtime find their weights.
  ask_huge_pages(literal.untyped_data(), literal.size_bytes());
  memcpy(literal.untyped_data(), data, literal.size_bytes());
  return literal;
}

// Kernels that keep weights or memory from run to run are custom calls.
bool keeps_state(const xla::HloModule& module) {
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kCustomCall) return true;
  return false;
}

// Of this user's earlier loads and searches; null where their folder can be neither read nor made, or is another user's.
std::unique_ptr<CodeCache> kept_code() {
  const std::string folder = user_object_folder();
  if (folder.empty()) return nullptr;
  try {
    return std::make_unique<CodeCache>(std::make_unique<ObjectStore>(ObjectStoreOptions{folder}));
  } catch (const Error&) {
    return nullptr;
  }
}

std::string do_not_fit(const Error& why) {
  return std::string("its decisions do not fit the program (") + why.what() + ")";
}

// The tables of decisions and of code are one module's at a time. A process that is forked while another thread compiles finds it
// locked for ever: it may run what was loaded before, and load what it needs in a process of its own.
std::mutex& compiling() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

RuntimeProgram::RuntimeProgram(const std::string& folder, int threads, bool tuned, bool keep_code)
    : keep_code_(keep_code) {
  const auto json = nlohmann::json::parse(shallow_json(read_text(folder + "/decisions.json")));
  module_ = load_module(read_text(folder + "/program.pb"), folder).module;
  const auto& target = json.at("target");
  target_.threads = threads > 0 ? threads : target.value("threads", 1);
  target_.max_isa = target.value("max_isa", "");  // of both: the duel was under it
  given_ = given_shapes(*module_);
  for (const QuantizedWeight& q : quantized_weights(*module_)) quantized_.emplace(q.weight, q);
  const auto* entry = module_->entry_computation();
  for (const auto* p : entry->parameter_instructions()) {
    if (!p->shape().IsArray()) throw Error("parameter " + std::to_string(p->parameter_number()) + " is a tuple");
    inputs_.push_back(p->shape());
  }
  xla::ShapeUtil::ForEachSubshape(entry->root_instruction()->shape(),
                                  [&](const xla::Shape& sub, const xla::ShapeIndex&) {
                                    if (sub.IsArray()) outputs_.push_back(sub);
                                  });
  weights_.resize(inputs_.size());
  if (!tuned) {
    fall_back("");
    prepare();
    return;
  }
  const MadeWith made = made_with_from_json(json);
  const MadeWith here = made_here("", xla_version(), library_versions());
  try {
    read_decisions(json);
    fit_ = fit_of(made, here, decisions_);
    compare_threads(target_.threads, here, fit_);
    if (!fit_.as_tuned) fall_back("");
    prepare();
  } catch (const Error& failed) {
    if (!as_tuned_) throw;
    fall_back(do_not_fit(failed));
    prepare();
  }
}

void RuntimeProgram::read_decisions(const nlohmann::json& package) {
  const auto& target = package.at("target");
  target_.allow_fast_math = target.value("allow_fast_math", false);
  target_.weights = target.value("weights", std::vector<int>());
  for (const auto& d : package.at("decisions"))
    decisions_.push_back(present({decision_kind_from_name(d.at("kind")), d.at("key"), d.at("value")}));
}

// To default XLA. `why`: empty where that is known already.
void RuntimeProgram::fall_back(const std::string& why) {
  as_tuned_ = fit_.as_tuned = false;
  if (!why.empty()) fit_.differences.push_back(why);
  decisions_.clear();
  unmatched_.clear();
  target_.allow_fast_math = false;
  target_.weights.clear();
  for (const auto& [weight, q] : quantized_)
    target_.weights.push_back(q.weight);  // converted once, as in the tuned one
  if (!has_isa(cpu_isa(), target_.max_isa)) target_.max_isa.clear();
}

void RuntimeProgram::prepare() {
  storage_ = weight_storage(*module_, target_.weights, decisions_);
  const bool needs_values = std::count(storage_.begin(), storage_.end(), Storage::Constant) > 0;
  if (!needs_values) compile();
}

bool RuntimeProgram::as_tuned() const {
  const std::shared_lock lock(mutex_);
  return as_tuned_;
}

bool RuntimeProgram::is_weight(int i) const {
  return std::count(target_.weights.begin(), target_.weights.end(), i) > 0;
}

std::string RuntimeProgram::warning() const {
  const std::shared_lock lock(mutex_);
  const std::string differs = fit_text(fit_), unmatched = unmatched_text(unmatched_);
  return differs + (differs.empty() || unmatched.empty() ? "" : "; ") + unmatched;
}

void RuntimeProgram::set_weight(int i, const void* data) {
  if (!is_weight(i)) throw Error("input " + std::to_string(i) + " was not declared a weight");
  const std::lock_guard lock(mutex_);
  if (quantized_.contains(i))
    take_quantized(i, data);
  else
    take_weight(i, copied(given_[i], data));
}

// A weight of f32 in the user's memory.
void RuntimeProgram::take_quantized(int i, const void* data) {
  const QuantizedWeight& q = quantized_.at(i);
  Quantized made = quantized(copied(given_[i], data), q.channel);
  take_weight(q.weight, copied(made.bytes.shape(), made.bytes.untyped_data()));  // in huge pages
  take_weight(q.factors, std::move(made.factors));
}

void RuntimeProgram::take_weight(int i, xla::Literal literal) {
  if (storage_[i] == Storage::Constant) compiled_ = false;  // folded: compile again
  // Dots pack anew where the address differs from that of their last run, which must not be freed until the next.
  if (storage_[i] == Storage::Packed) replaced_.push_back(std::move(weights_[i]));
  weights_[i] = std::make_unique<xla::Literal>(std::move(literal));
  if (storage_[i] == Storage::Transposed)
    transposed_[i] = std::make_unique<xla::Literal>(
        weights_[i]->Transpose({1, 0}).Relayout(xla::LayoutUtil::MakeDescendingLayout(2)));
  weights_changed();
  for (const auto& place : free_) bind_weight(*place->executable, i);  // nobody runs now: all are free
}

void RuntimeProgram::compile() {
  std::vector<xla::Literal> values;
  for (size_t i = 0; i < inputs_.size(); ++i) values.push_back(weights_[i] ? weights_[i]->Clone() : xla::Literal());
  const std::lock_guard lock(compiling());
  Lowered lowered = lower(*module_, target_, decisions_, &values);
  unmatched_ = lowered.unmatched;
  const bool packed = std::count(storage_.begin(), storage_.end(), Storage::Packed) > 0;
  most_places_ = packed || keeps_state(*lowered.module) ? 1 : std::max(2U, std::thread::hardware_concurrency());
  const std::unique_ptr<CodeCache> code = as_tuned_ && keep_code_ ? kept_code() : nullptr;
  auto executable =
      std::make_unique<Executable>(generate(std::move(lowered.module), lowered.run.threads, code.get()), lowered.run);
  free_.clear();
  first_ = executable.get();
  free_.push_back(place_of(std::move(executable)));
  places_ = 1;
  compiled_ = true;
}

// With weights folded in, it is known only now whether the decisions fit. If not, the weights stay declared and as they were set.
void RuntimeProgram::compile_late() {
  try {
    compile();
  } catch (const Error& failed) {
    if (!as_tuned_) throw;
    const std::vector<int> weights = target_.weights;
    fall_back(do_not_fit(failed));
    target_.weights = weights;
    storage_ = weight_storage(*module_, target_.weights, decisions_);
    compile();
  }
}

void RuntimeProgram::run(const void* const* inputs, void* const* outputs) {
  std::shared_lock lock(mutex_);
  for (int i : target_.weights)
    if (!weights_[i]) throw Error("weight " + std::to_string(i) + " was never set");
  while (!compiled_) {
    lock.unlock();
    {
      const std::lock_guard alone(mutex_);
      if (!compiled_) compile_late();
    }
    lock.lock();
  }
  std::unique_ptr<Place> place = take_place();
  try {
    use(*place, inputs, outputs);
  } catch (...) {
    give_back(std::move(place));
    throw;
  }
  give_back(std::move(place));
}

void RuntimeProgram::use(Place& place, const void* const* inputs, void* const* outputs) {
  for (size_t i = 0; i < given_.size(); ++i)
    if (!weights_[i]) bind_input(place, i, inputs[i]);
  for (size_t i = 0; i < outputs_.size(); ++i)
    place.executable->set_output(i, aligned(outputs[i]) ? outputs[i] : nullptr);
  place.executable->refresh_donated();
  place.executable->run();
  if (most_places_ == 1) replaced_.clear();
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (const void* result = place.executable->output(i); result != outputs[i])
      memcpy(outputs[i], result, xla::ShapeUtil::ByteSizeOf(place.executable->outputs()[i].shape, sizeof(void*)));
}

std::unique_ptr<RuntimeProgram::Place> RuntimeProgram::take_place() {
  std::unique_lock lock(places_mutex_);
  if (free_.empty() && places_ < most_places_) {
    std::unique_ptr<Place> place = place_of(first_->another());
    ++places_;
    return place;
  }
  place_free_.wait(lock, [&] { return !free_.empty(); });
  std::unique_ptr<Place> place = std::move(free_.back());
  free_.pop_back();
  return place;
}

void RuntimeProgram::give_back(std::unique_ptr<Place> place) {
  {
    const std::lock_guard lock(places_mutex_);
    free_.push_back(std::move(place));
  }
  place_free_.notify_one();
}

std::unique_ptr<RuntimeProgram::Place> RuntimeProgram::place_of(std::unique_ptr<Executable> executable) const {
  auto place = std::make_unique<Place>();
  place->executable = std::move(executable);
  place->bound.assign(inputs_.size(), nullptr);
  place->scratch.resize(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (weights_[i]) bind_weight(*place->executable, i);
  return place;
}

void RuntimeProgram::bind_weight(Executable& executable, size_t i) const {
  if (storage_[i] == Storage::Constant) return;
  const auto& literal = storage_[i] == Storage::Transposed ? transposed_.at(i) : weights_[i];
  executable.set_input(i, literal->untyped_data());
}

void RuntimeProgram::bind_input(Place& place, size_t i, const void* data) const {
  if (data == nullptr) throw Error("input " + std::to_string(i) + " is missing");
  if (!aligned(data)) {
    const size_t size = xla::ShapeUtil::ByteSizeOf(inputs_[i], sizeof(void*));
    if (place.scratch[i].data() == nullptr) place.scratch[i] = AlignedBuffer(size, false);
    memcpy(place.scratch[i].data(), data, size);
    data = place.scratch[i].data();
  }
  if (place.bound[i] == data) return;
  place.executable->set_input(i, data);
  place.bound[i] = data;
}

}  // namespace hone::xla_side
