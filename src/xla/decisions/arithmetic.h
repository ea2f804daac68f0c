// The instructions that rewrites are built of, added to one computation; those that would change nothing are not added.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace hone::xla_side {

// With dimensions in memory as they are in the shape: what custom calls take and give.
inline xla::Shape in_order(const xla::Shape& shape) {
  return xla::ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), shape.dimensions());
}

// Of the shape's dimensions in such an order, in elements.
inline std::vector<int64_t> dense_strides(const xla::Shape& shape) {
  std::vector<int64_t> strides(shape.dimensions().size(), 1);
  for (int d = static_cast<int>(strides.size()) - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape.dimensions(d + 1);
  return strides;
}

class Arithmetic {
 protected:
  using HloInstruction = xla::HloInstruction;
  using Sizes = std::vector<int64_t>;

  explicit Arithmetic(xla::HloComputation* computation) : computation_(computation) {}

  static Sizes sizes_of(const HloInstruction* value) {
    return Sizes(value->shape().dimensions().begin(), value->shape().dimensions().end());
  }
  // Of the element type of `value`.
  static xla::Shape shape_like(const HloInstruction* value, const Sizes& sizes) {
    return xla::ShapeUtil::MakeShape(value->shape().element_type(), sizes);
  }

  HloInstruction* add(std::unique_ptr<HloInstruction> instruction) {
    return computation_->AddInstruction(std::move(instruction));
  }
  HloInstruction* as_type(HloInstruction* value, xla::PrimitiveType type) {
    if (value->shape().element_type() == type) return value;
    return add(HloInstruction::CreateConvert(xla::ShapeUtil::ChangeElementType(value->shape(), type), value));
  }
  HloInstruction* reshaped(HloInstruction* value, const Sizes& sizes) {
    return sizes_of(value) == sizes ? value : add(HloInstruction::CreateReshape(shape_like(value, sizes), value));
  }
  HloInstruction* transposed(HloInstruction* value, const Sizes& order) {
    if (std::is_sorted(order.begin(), order.end())) return value;
    Sizes sizes;
    for (const int64_t d : order) sizes.push_back(value->shape().dimensions(d));
    return add(HloInstruction::CreateTranspose(shape_like(value, sizes), value, order));
  }
  HloInstruction* concatenated(const std::vector<HloInstruction*>& values, int64_t dimension) {
    if (values.size() == 1) return values[0];
    Sizes sizes = sizes_of(values[0]);
    sizes[dimension] = 0;
    for (const HloInstruction* value : values) sizes[dimension] += value->shape().dimensions(dimension);
    return add(HloInstruction::CreateConcatenate(shape_like(values[0], sizes), values, dimension));
  }
  HloInstruction* binary(xla::HloOpcode opcode, HloInstruction* a, HloInstruction* b) {
    return add(HloInstruction::CreateBinary(a->shape(), opcode, a, b));
  }
  HloInstruction* unary(xla::HloOpcode opcode, HloInstruction* value) {
    return add(HloInstruction::CreateUnary(value->shape(), opcode, value));
  }
  HloInstruction* compare(HloInstruction* a, HloInstruction* b, xla::ComparisonDirection direction) {
    return add(
        HloInstruction::CreateCompare(xla::ShapeUtil::ChangeElementType(a->shape(), xla::PRED), a, b, direction));
  }
  HloInstruction* select(HloInstruction* which, HloInstruction* a, HloInstruction* b) {
    return add(HloInstruction::CreateTernary(a->shape(), xla::HloOpcode::kSelect, which, a, b));
  }
  // By one operation.
  HloInstruction* reduced(HloInstruction* value, HloInstruction* init, const Sizes& dimensions, xla::HloOpcode opcode) {
    const xla::Shape scalar = shape_like(value, {});
    xla::HloComputation::Builder builder("reducer");
    auto* x = builder.AddInstruction(HloInstruction::CreateParameter(0, scalar, "x"));
    auto* y = builder.AddInstruction(HloInstruction::CreateParameter(1, scalar, "y"));
    builder.AddInstruction(HloInstruction::CreateBinary(scalar, opcode, x, y));
    xla::HloComputation* reducer = computation_->parent()->AddEmbeddedComputation(builder.Build());
    Sizes kept;
    for (int64_t d = 0; d < static_cast<int64_t>(value->shape().dimensions().size()); ++d)
      if (std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end())
        kept.push_back(value->shape().dimensions(d));
    return add(HloInstruction::CreateReduce(shape_like(value, kept), value, init, dimensions, reducer));
  }
  // A constant, everywhere.
  HloInstruction* filled(xla::Literal scalar, const Sizes& sizes) {
    HloInstruction* one = add(HloInstruction::CreateConstant(std::move(scalar)));
    return add(HloInstruction::CreateBroadcast(shape_like(one, sizes), one, {}));
  }

 private:
  xla::HloComputation* computation_;
};

}  // namespace hone::xla_side
