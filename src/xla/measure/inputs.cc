#include "measure/inputs.h"

#include <random>
#include <set>

#include "base/rng.h"
#include "decisions/quantized_weights.h"
#include "status.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using Use = InputUse;

// Follows a value through operations that keep its elements, into calls and fusions, to see how it is used.
class UseScan {
 public:
  // `path`: the array to follow if the value is a tuple.
  Use scan(const xla::HloInstruction* value, const xla::ShapeIndex& path) {
    visit(value, path, 0);
    return use_;
  }

 private:
  void bound(int64_t size) {
    if (size > 0) use_.index_bound = use_.index_bound == 0 ? size : std::min(use_.index_bound, size);
  }

  void visit(const xla::HloInstruction* value, const xla::ShapeIndex& path, int depth) {
    if (depth > 60 || !seen_.insert({value, path}).second) return;
    for (const auto* user : value->users())
      for (int64_t k = 0; k < user->operand_count(); ++k)
        if (user->operand(k) == value && !in_tuple(user, k, path, depth) && path.empty()) operand(user, k, depth);
    // A computation's result is the caller's value; a loop's body also passes it to the next iteration.
    const auto* computation = value->parent();
    if (value != computation->root_instruction()) return;
    for (const auto opcode : {xla::HloOpcode::kCall, xla::HloOpcode::kFusion, xla::HloOpcode::kConditional})
      for (const auto* caller : computation->caller_instructions(opcode)) visit(caller, path, depth + 1);
    for (const auto* caller : computation->caller_instructions(xla::HloOpcode::kWhile))
      if (caller->while_body() == computation) {
        visit(caller->while_body()->parameter_instruction(0), path, depth + 1);
        visit(caller, path, depth + 1);
      }
  }

  // Uses that build, take apart or pass on tuples.
  bool in_tuple(const xla::HloInstruction* user, int64_t k, const xla::ShapeIndex& path, int depth) {
    using xla::HloOpcode;
    switch (user->opcode()) {
      case HloOpcode::kTuple: {
        xla::ShapeIndex longer = path;
        longer.push_front(k);
        visit(user, longer, depth + 1);
        return true;
      }
      case HloOpcode::kGetTupleElement:
        if (!path.empty() && path.front() == user->tuple_index())
          visit(user, xla::ShapeIndex(path.begin() + 1, path.end()), depth + 1);
        return true;
      case HloOpcode::kWhile:
        visit(user->while_body()->parameter_instruction(0), path, depth + 1);
        visit(user->while_condition()->parameter_instruction(0), path, depth + 1);
        visit(user, path, depth + 1);
        return true;
      case HloOpcode::kConditional:
        if (k > 0) visit(user->branch_computation(k - 1)->parameter_instruction(0), path, depth + 1);
        return true;
      case HloOpcode::kFusion:
      case HloOpcode::kCall:
        visit(user->called_computations()[0]->parameter_instruction(k), path, depth + 1);
        return true;
      default:
        return false;
    }
  }

  void operand(const xla::HloInstruction* user, int64_t k, int depth) {
    using xla::HloOpcode;
    switch (user->opcode()) {
      case HloOpcode::kReshape:
      case HloOpcode::kBroadcast:
      case HloOpcode::kTranspose:
      case HloOpcode::kBitcast:
      case HloOpcode::kCopy:
      case HloOpcode::kConvert:
      case HloOpcode::kSlice:
      case HloOpcode::kConcatenate:
      case HloOpcode::kOptimizationBarrier:
      case HloOpcode::kClamp:
        return visit(user, {}, depth + 1);
      case HloOpcode::kSelect:
        if (k > 0) visit(user, {}, depth + 1);
        return;
      case HloOpcode::kGather:
      case HloOpcode::kScatter:
      case HloOpcode::kDynamicUpdateSlice:
        return index(user, k);
      case HloOpcode::kDynamicSlice:
        if (k == 0) visit(user, {}, depth + 1);  // one layer of stacked weights
        return index(user, k);
      case HloOpcode::kSqrt:
      case HloOpcode::kRsqrt:
      case HloOpcode::kLog:
      case HloOpcode::kCbrt:
      case HloOpcode::kLog1p:
        use_.positive = true;
        return;
      case HloOpcode::kDivide:
      case HloOpcode::kRemainder:
        if (k == 1) use_.positive = true;
        return;
      case HloOpcode::kAdd:
      case HloOpcode::kMaximum:  // sqrt(v + eps), log(max(v, tiny)): v must be positive
        for (const auto* next : user->users())
          if (next->opcode() == HloOpcode::kSqrt || next->opcode() == HloOpcode::kRsqrt ||
              next->opcode() == HloOpcode::kLog)
            use_.positive = true;
        return;
      case HloOpcode::kDot:
      case HloOpcode::kConvolution:
        return factor(user, k);
      case HloOpcode::kMap:
        if (k < user->called_computations()[0]->num_parameters())
          visit(user->called_computations()[0]->parameter_instruction(k), {}, depth + 1);
        return;
      default:
        return;
    }
  }

  // Indices into another array: they must be in range.
  void index(const xla::HloInstruction* user, int64_t k) {
    using xla::HloOpcode;
    const auto& shape = user->operand(0)->shape();
    if (user->opcode() == HloOpcode::kGather && k == 1)
      for (int64_t d : user->gather_dimension_numbers().start_index_map()) bound(shape.dimensions(d));
    if (user->opcode() == HloOpcode::kScatter && k == user->operand_count() / 2)
      for (int64_t d : user->scatter_dimension_numbers().scatter_dims_to_operand_dims()) bound(shape.dimensions(d));
    if (user->opcode() == HloOpcode::kDynamicSlice && k >= 1)
      bound(shape.dimensions(k - 1) - user->shape().dimensions(k - 1) + 1);
    if (user->opcode() == HloOpcode::kDynamicUpdateSlice && k >= 2)
      bound(shape.dimensions(k - 2) - user->operand(1)->shape().dimensions(k - 2) + 1);
  }

  // An operand of a dot or the kernel of a convolution: the number of products summed per result element.
  void factor(const xla::HloInstruction* user, int64_t k) {
    if (user->opcode() == xla::HloOpcode::kDot) {
      const auto& numbers = user->dot_dimension_numbers();
      const auto& contracting = k == 0 ? numbers.lhs_contracting_dimensions() : numbers.rhs_contracting_dimensions();
      int64_t product = 1;
      for (int64_t d : contracting) product *= user->operand(k)->shape().dimensions(d);
      use_.fan_in = std::max(use_.fan_in, product);
    } else if (k == 1) {
      const int64_t features =
          user->shape().dimensions(user->convolution_dimension_numbers().output_feature_dimension());
      use_.fan_in =
          std::max<int64_t>(1, xla::ShapeUtil::ElementsIn(user->operand(1)->shape()) / std::max<int64_t>(1, features));
    }
  }

  Use use_;
  std::set<std::pair<const xla::HloInstruction*, xla::ShapeIndex>> seen_;
};

double normal(Rng& rng) {  // Box-Muller
  const double u = std::max(rng.uniform(), 1e-300), v = rng.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

template <class T>
T draw_float(const Use& use, double scale, Rng& rng) {
  const double value = use.positive ? 0.5 + std::fabs(normal(rng)) * 0.5 : normal(rng) * scale;
  return static_cast<T>(static_cast<float>(value));
}

constexpr size_t kManyElements = 1 << 20;
constexpr int kTableBits = 16;

// Elements of large arrays are drawn from a table of 65,536 values, four with each random number: a logarithm and a cosine
// for each would take a minute for the weights of a language model.
template <class T>
void fill_float(xla::MutableLiteralBase& literal, const xla::ShapeIndex& index, const Use& use, Rng& rng) {
  const double scale = use.fan_in > 0 ? 1 / std::sqrt(static_cast<double>(use.fan_in)) : 0.5;
  const auto data = literal.data<T>(index);
  if (data.size() < kManyElements) {
    for (T& x : data) x = draw_float<T>(use, scale, rng);
    return;
  }
  std::vector<T> table(1 << kTableBits);
  for (T& x : table) x = draw_float<T>(use, scale, rng);
  uint64_t bits = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    bits = i % (64 / kTableBits) == 0 ? rng() : bits >> kTableBits;
    data[i] = table[bits & ((1 << kTableBits) - 1)];
  }
}

template <class T>
void fill_int(xla::MutableLiteralBase& literal, const xla::ShapeIndex& index, const Use& use, Rng& rng) {
  const int64_t bound = use.index_bound > 0 ? std::min<int64_t>(use.index_bound, 127) : 4;
  const int64_t base = use.positive ? 1 : 0;
  const int64_t wide = use.index_bound > 127 && sizeof(T) > 1 ? std::min<int64_t>(use.index_bound, 32767) : bound;
  for (T& x : literal.data<T>(index)) x = static_cast<T>(base + rng.below(std::max<int64_t>(1, wide)));
}

void fill(xla::MutableLiteralBase& literal, const xla::Shape& shape, const xla::ShapeIndex& index, const Use& use,
          Rng& rng) {
  switch (shape.element_type()) {
    case xla::F32:
      return fill_float<float>(literal, index, use, rng);
    case xla::F64:
      return fill_float<double>(literal, index, use, rng);
    case xla::BF16:
      return fill_float<xla::bfloat16>(literal, index, use, rng);
    case xla::F16:
      return fill_float<xla::half>(literal, index, use, rng);
    case xla::S8:
      return fill_int<int8_t>(literal, index, use, rng);
    case xla::S16:
      return fill_int<int16_t>(literal, index, use, rng);
    case xla::S32:
      return fill_int<int32_t>(literal, index, use, rng);
    case xla::S64:
      return fill_int<int64_t>(literal, index, use, rng);
    case xla::U8:
      return fill_int<uint8_t>(literal, index, use, rng);
    case xla::U16:
      return fill_int<uint16_t>(literal, index, use, rng);
    case xla::U32:
      return fill_int<uint32_t>(literal, index, use, rng);
    case xla::U64:
      return fill_int<uint64_t>(literal, index, use, rng);
    case xla::PRED:
      for (bool& x : literal.data<bool>(index)) x = rng() & 1;
      return;
    case xla::C64:
      for (auto& x : literal.data<xla::complex64>(index)) x = xla::complex64(normal(rng) * 0.5, normal(rng) * 0.5);
      return;
    case xla::C128:
      for (auto& x : literal.data<xla::complex128>(index)) x = xla::complex128(normal(rng) * 0.5, normal(rng) * 0.5);
      return;
    default:
      memset(literal.untyped_data(index), 0, xla::ShapeUtil::ByteSizeOf(shape, 8));
  }
}

}  // namespace

InputUse input_use(const xla::HloInstruction* parameter, const xla::ShapeIndex& index) {
  return UseScan().scan(parameter, index);
}

std::vector<xla::Literal> generate_inputs(const xla::HloModule& program, uint64_t seed, int64_t limit_bytes) {
  const auto* entry = program.entry_computation();
  double total = 0;
  for (const auto* p : entry->parameter_instructions())
    xla::ShapeUtil::ForEachSubshape(p->shape(), [&](const xla::Shape& sub, const xla::ShapeIndex&) {
      if (!sub.IsArray()) return;
      double bytes = xla::primitive_util::ByteWidth(sub.element_type());
      for (int64_t d : sub.dimensions()) bytes *= static_cast<double>(d);
      total += bytes;
    });
  if (total > static_cast<double>(limit_bytes))
    throw Error("the inputs need " + std::to_string(static_cast<int64_t>(total / 1048576)) +
                " MiB, more than the limit of " + std::to_string(limit_bytes >> 20) + " MiB");
  std::vector<xla::Literal> literals;
  for (const auto* p : entry->parameter_instructions()) {
    xla::Shape shape = p->shape();
    xla::ShapeUtil::ForEachMutableSubshape(&shape, [](xla::Shape* sub, const xla::ShapeIndex&) {
      if (sub->IsArray()) *sub->mutable_layout() = xla::LayoutUtil::GetDefaultLayoutForShape(*sub);
    });
    xla::Literal literal = xla::Literal::CreateFromShape(shape);
    Rng rng(seed * 1000003 + p->parameter_number());
    xla::ShapeUtil::ForEachSubshape(shape, [&](const xla::Shape& sub, const xla::ShapeIndex& index) {
      if (sub.IsArray()) fill(literal, sub, index, input_use(p, index), rng);
    });
    literals.push_back(std::move(literal));
  }
  for (const QuantizedWeight& q : quantized_weights(program)) {
    xla::Literal weight(xla::ShapeUtil::ChangeElementType(literals[q.weight].shape(), xla::F32));
    Rng rng(seed * 1000003 + q.weight);
    fill_float<float>(weight, {}, {.fan_in = weight.shape().dimensions(1 - q.channel)}, rng);
    Quantized made = quantized(weight, q.channel);
    literals[q.weight] = std::move(made.bytes);
    literals[q.factors] = std::move(made.factors);
  }
  return literals;
}

}  // namespace hone::xla_side
