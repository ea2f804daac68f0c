#include "kernels/dnnl_operation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "kernels/dnnl_handles.h"
#include "kernels/dnnl_parts.h"
#include "kernels/kept_weights.h"

namespace hone {
namespace {

const DnnlLibrary& library() {
  const DnnlLibrary* found = dnnl_library();
  if (found == nullptr) throw Error("oneDNN is not installed", "libdnnl.so.3", "run make setup");
  return *found;
}

dnnl_alg_kind_t algorithm(const std::string& name) {
  static const std::map<std::string, dnnl_alg_kind_t> known = {{"add", dnnl_binary_add},
                                                               {"sub", dnnl_binary_sub},
                                                               {"mul", dnnl_binary_mul},
                                                               {"div", dnnl_binary_div},
                                                               {"max", dnnl_binary_max},
                                                               {"min", dnnl_binary_min},
                                                               {"relu", dnnl_eltwise_relu},
                                                               {"linear", dnnl_eltwise_linear},
                                                               {"clip", dnnl_eltwise_clip_v2},
                                                               {"logistic", dnnl_eltwise_logistic},
                                                               {"tanh", dnnl_eltwise_tanh},
                                                               {"swish", dnnl_eltwise_swish},
                                                               {"exp", dnnl_eltwise_exp},
                                                               {"abs", dnnl_eltwise_abs},
                                                               {"sqrt", dnnl_eltwise_sqrt},
                                                               {"gelu_erf", dnnl_eltwise_gelu_erf},
                                                               {"gelu_tanh", dnnl_eltwise_gelu_tanh},
                                                               {"hardswish", dnnl_eltwise_hardswish},
                                                               {"elu", dnnl_eltwise_elu},
                                                               {"soft_relu", dnnl_eltwise_soft_relu},
                                                               {"mish", dnnl_eltwise_mish}};
  const auto found = known.find(name);
  if (found == known.end()) throw Error("oneDNN has no step '" + name + "'");
  return found->second;
}

// A sum for each channel in the first place is what oneDNN calls a bias.
bool begins_with_bias(const DnnlPlan& plan) {
  return !plan.post_ops.empty() && plan.post_ops[0].name == "add" && plan.post_ops[0].operand == PostOperand::Channel;
}

// A part of the result, computed by one thread.
struct Primitive {
  DnnlPart part;
  DnnlDesc weights;  // as the kernel wants them
  DnnlPrimitive primitive;
  DnnlMemory input, kernel, output, bias, scratch;
  std::vector<DnnlMemory> operands;  // of the steps that have one, without the bias
  std::vector<dnnl_exec_arg_t> arguments;
  std::string name;
};

DnnlDesc channel_desc(const DnnlPlan& plan) {
  DnnlArray array;
  for (size_t d = 0; d < plan.output.sizes.size(); ++d) array.sizes.push_back(d == 1 ? plan.output.sizes[1] : 1);
  array.strides.assign(array.sizes.size(), 1);
  array.strides[0] = plan.output.sizes[1];
  return DnnlDesc(library(), array);
}

DnnlDesc bias_desc(const DnnlPlan& plan) {
  const int64_t channels = plan.output.sizes[1];
  return plan.is_convolution() ? DnnlDesc(library(), {{channels}, {1}}) : channel_desc(plan);
}

DnnlAttributes attributes_of(const DnnlPlan& plan) {
  DnnlAttributes attributes(library());
  const DnnlDesc full(library(), plan.output), channel = channel_desc(plan);
  for (size_t i = begins_with_bias(plan) ? 1 : 0; i < plan.post_ops.size(); ++i) {
    const PostOp& op = plan.post_ops[i];
    if (op.operand == PostOperand::None)
      attributes.then(algorithm(op.name), static_cast<float>(op.alpha), static_cast<float>(op.beta));
    else
      attributes.then(algorithm(op.name), op.operand == PostOperand::Full ? full : channel);
  }
  attributes.finish();
  return attributes;
}

DnnlPrimitiveDesc description(const DnnlPlan& plan) {
  const DnnlLibrary& dnnl = library();
  const DnnlDesc input(dnnl, plan.input), output(dnnl, plan.output), weights = DnnlDesc::any(dnnl, plan.weights.sizes);
  const DnnlDesc bias = bias_desc(plan);
  const dnnl_memory_desc_t bias_or_none = begins_with_bias(plan) ? bias.get() : nullptr;
  const DnnlAttributes attributes = attributes_of(plan);
  dnnl_primitive_desc_t made = nullptr;
  dnnl_status_t status;
  if (plan.is_convolution()) {
    std::vector<int64_t> dilation = plan.dilation;
    for (int64_t& d : dilation) --d;  // oneDNN counts the elements between
    status = dnnl.convolution_forward_primitive_desc_create(
        &made, dnnl.engine, dnnl_forward_inference, dnnl_convolution_direct, input.get(), weights.get(), bias_or_none,
        output.get(), plan.strides.data(), dilation.data(), plan.pad_low.data(), plan.pad_high.data(),
        attributes.get());
  } else {
    status = dnnl.matmul_primitive_desc_create(&made, dnnl.engine, input.get(), weights.get(), bias_or_none,
                                               output.get(), attributes.get());
  }
  if (status != dnnl_success) throw Error("oneDNN has no kernel for this operation");
  return DnnlPrimitiveDesc(dnnl, made);
}

DnnlPrimitive reordering(const DnnlDesc& from, const DnnlDesc& to) {
  const DnnlLibrary& dnnl = library();
  dnnl_primitive_desc_t made = nullptr;
  require_dnnl(dnnl.reorder_primitive_desc_create(&made, from.get(), dnnl.engine, to.get(), dnnl.engine, nullptr),
               "a reorder");
  return DnnlPrimitiveDesc(dnnl, made).primitive();
}

Primitive primitive_of(const DnnlPart& part) {
  const DnnlLibrary& dnnl = library();
  const DnnlPlan& plan = part.plan;
  const DnnlPrimitiveDesc made = description(plan);
  Primitive p{part, made.weights(), made.primitive(), {}, {}, {}, {}, {}, {}, {}, made.name()};
  if (p.name.rfind("ref", 0) == 0) throw Error("oneDNN has no fast kernel for this operation");
  p.input = DnnlMemory(dnnl, DnnlDesc(dnnl, plan.input));
  p.kernel = DnnlMemory(dnnl, p.weights);
  p.output = DnnlMemory(dnnl, DnnlDesc(dnnl, plan.output));
  p.scratch = DnnlMemory(dnnl, made.scratchpad(), /*owns=*/true);
  p.arguments = {{DNNL_ARG_SRC, p.input.get()},
                 {DNNL_ARG_WEIGHTS, p.kernel.get()},
                 {DNNL_ARG_DST, p.output.get()},
                 {DNNL_ARG_SCRATCHPAD, p.scratch.get()}};
  const bool bias = begins_with_bias(plan);
  if (bias) {
    p.bias = DnnlMemory(dnnl, bias_desc(plan));
    p.arguments.push_back({DNNL_ARG_BIAS, p.bias.get()});
  }
  for (size_t i = bias ? 1 : 0; i < plan.post_ops.size(); ++i) {
    const PostOperand operand = plan.post_ops[i].operand;
    if (operand == PostOperand::None) continue;
    p.operands.emplace_back(dnnl, operand == PostOperand::Full ? DnnlDesc(dnnl, plan.output) : channel_desc(plan));
    const int step = static_cast<int>(i) - (bias ? 1 : 0);
    p.arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(step) | DNNL_ARG_SRC_1, p.operands.back().get()});
  }
  return p;
}

int64_t count_of(const DnnlArray& array) {
  return std::accumulate(array.sizes.begin(), array.sizes.end(), int64_t{1}, std::multiplies<>());
}

// Numbers of f16, infinities and NaNs among them, as f32.
std::vector<float> widened(const uint16_t* halves, int64_t count) {
  constexpr uint32_t kExponents = (127 - 15) << 23;  // between those of both types
  std::vector<float> wide(count);
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = halves[i] & 0x7FFFU, sign = (halves[i] & 0x8000U) << 16;
    const uint32_t bits = magnitude >= 0x7C00U ? magnitude << 13 | 0x7F800000U
                          : magnitude < 0x400U ? std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f)
                                               : (magnitude << 13) + kExponents;
    wide[i] = std::bit_cast<float>(bits | sign);
  }
  return wide;
}

// The weights, which lie densely in some order, times the factors of their channels.
std::vector<float> scaled(const DnnlPlan& plan, const float* weights, const float* factors) {
  const DnnlArray& array = plan.weights;
  const bool grouped = plan.groups > 1;
  const size_t channel = plan.is_convolution() ? (grouped ? 1 : 0) : 1;
  const int64_t each = array.sizes[channel];
  const int64_t count = count_of(array);
  std::vector<float> result(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t group = grouped ? i / array.strides[0] % array.sizes[0] : 0;
    result[i] = weights[i] * factors[group * each + i / array.strides[channel] % each];
  }
  return result;
}

}  // namespace

struct DnnlOperation::State {
  // Weights of one part or of all, in the order of their kernels.
  struct Kept {
    size_t of = 0;  // the primitive that says in which order
    DnnlPrimitive reorder;
    DnnlMemory from, to;
    std::unique_ptr<KeptWeights> data;
  };

  std::mutex mutex;
  DnnlPlan plan;  // without the step that is multiplied into the weights
  std::vector<Primitive> primitives;
  std::vector<Kept> kept;       // empty where kernels read weights as they are
  std::vector<size_t> kept_of;  // by primitive
  const void* read = nullptr;   // what is kept was made of these weights at this epoch
  uint64_t read_epoch = 0;
  std::vector<DnnlStream> streams;  // by primitive

  void keep_weights();
  void refresh(const void* weights, const float* factors);
  void run_part(size_t number, const void* const* arguments, float* result);
};

void DnnlOperation::State::keep_weights() {
  const DnnlLibrary& dnnl = library();
  for (size_t i = 0; i < primitives.size(); ++i) {
    const DnnlDesc plain(dnnl, primitives[i].part.plan.weights);
    if (!plan.scaled && plan.weights_type == "f32" && plain.same(primitives[i].weights)) {
      kept_of.push_back(SIZE_MAX);
      continue;
    }
    const auto shared = std::find_if(kept.begin(), kept.end(), [&](const Kept& k) {
      return primitives[k.of].part.weights_offset == primitives[i].part.weights_offset &&
             primitives[k.of].weights.same(primitives[i].weights);
    });
    if (shared != kept.end()) {
      kept_of.push_back(shared - kept.begin());
      continue;
    }
    Kept k;
    k.of = i;
    k.data = std::make_unique<KeptWeights>(primitives[i].weights.bytes());
    k.from = DnnlMemory(dnnl, plain);
    k.to = DnnlMemory(dnnl, primitives[i].weights);
    k.to.set(k.data->data());
    k.reorder = reordering(plain, primitives[i].weights);
    kept_of.push_back(kept.size());
    kept.push_back(std::move(k));
  }
}

void DnnlOperation::State::refresh(const void* weights, const float* factors) {
  const uint64_t epoch = weights_epoch();
  if (plan.steady && read == weights && read_epoch == epoch) return;
  std::vector<float> made;
  if (plan.weights_type != "f32") made = widened(static_cast<const uint16_t*>(weights), count_of(plan.weights));
  if (factors) made = scaled(plan, made.empty() ? static_cast<const float*>(weights) : made.data(), factors);
  const float* plain = made.empty() ? static_cast<const float*>(weights) : made.data();
  for (Kept& k : kept) {
    k.from.set(const_cast<float*>(plain + primitives[k.of].part.weights_offset));
    k.reorder.run(streams[k.of], {{DNNL_ARG_FROM, k.from.get()}, {DNNL_ARG_TO, k.to.get()}});
  }
  read = weights;
  read_epoch = epoch;
}

void DnnlOperation::State::run_part(size_t number, const void* const* arguments, float* result) {
  Primitive& p = primitives[number];
  const auto at = [](const void* data, int64_t offset) {
    return const_cast<float*>(static_cast<const float*>(data) + offset);
  };
  p.input.set(at(arguments[0], p.part.input_offset));
  p.output.set(result + p.part.output_offset);
  p.kernel.set(kept_of[number] == SIZE_MAX ? at(arguments[1], p.part.weights_offset)
                                           : kept[kept_of[number]].data->data());
  size_t next = plan.scaled ? 3 : 2, operand = 0;
  for (size_t i = 0; i < plan.post_ops.size(); ++i) {
    if (plan.post_ops[i].operand == PostOperand::None) continue;
    const int64_t offset = plan.post_ops[i].operand == PostOperand::Full ? p.part.output_offset : p.part.channel_offset;
    DnnlMemory& memory = i == 0 && begins_with_bias(plan) ? p.bias : p.operands[operand++];
    memory.set(at(arguments[next++], offset));
  }
  p.primitive.run(streams[number], p.arguments);
}

DnnlOperation::DnnlOperation(const DnnlPlan& plan) : state_(std::make_unique<State>()) {
  const DnnlLibrary& dnnl = library();
  const DnnlOneThread one(dnnl);
  state_->plan = plan;
  if (plan.scaled) state_->plan.post_ops.erase(state_->plan.post_ops.begin());
  for (const DnnlPart& part : parts_of(state_->plan)) state_->primitives.push_back(primitive_of(part));
  for (size_t i = 0; i < state_->primitives.size(); ++i) state_->streams.emplace_back(dnnl);
  state_->keep_weights();
}

DnnlOperation::~DnnlOperation() = default;

const char* DnnlOperation::kernel_name() const { return state_->primitives[0].name.c_str(); }

void DnnlOperation::run(const void* const* arguments, size_t count, void* result, const ForEach& for_each) {
  const std::lock_guard lock(state_->mutex);
  const auto with_operand = [](const PostOp& op) { return op.operand != PostOperand::None; };
  const auto& steps = state_->plan.post_ops;
  const size_t before = state_->plan.scaled ? 3 : 2;
  if (count != before + static_cast<size_t>(std::count_if(steps.begin(), steps.end(), with_operand)))
    throw Error("a wrong number of arguments of an operation for oneDNN");
  {
    const DnnlOneThread one(library());
    state_->refresh(arguments[1], state_->plan.scaled ? static_cast<const float*>(arguments[2]) : nullptr);
  }
  const auto part = [&](size_t number) {
    const DnnlOneThread one(library());
    state_->run_part(number, arguments, static_cast<float*>(result));
  };
  if (state_->primitives.size() == 1)
    part(0);
  else
    for_each(state_->primitives.size(), part);
}

}  // namespace hone
