#include "decisions/seam_table.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/decision_family.h"
#include "xla_pch.h"

namespace hone::xla_side {

SeamTable& seam_table() {
  static SeamTable table;
  return table;
}

std::string dot_shape_key(const xla::DotDimensionNumbers& numbers, const xla::Shape& lhs, const xla::Shape& rhs) {
  return xla::ShapeUtil::HumanStringWithLayout(lhs) + "*" + xla::ShapeUtil::HumanStringWithLayout(rhs) + "/" +
         std::to_string(numbers.lhs_contracting_dimensions_size() ? numbers.lhs_contracting_dimensions(0) : -1) + "," +
         std::to_string(numbers.rhs_contracting_dimensions_size() ? numbers.rhs_contracting_dimensions(0) : -1);
}

std::string reduce_key(const xla::HloInstruction& reduce) {
  return absl::StrCat(family(FamilyId::Reduction).prefix,
                      xla::HloOpcodeString(reduce.to_apply()->root_instruction()->opcode()), ":",
                      xla::ShapeUtil::HumanString(reduce.operand(0)->shape()), "->",
                      xla::ShapeUtil::HumanString(reduce.shape()), ":", absl::StrJoin(reduce.dimensions(), ","));
}

void tag_module(xla::HloModule& module) {
  for (auto* computation : module.computations())
    for (auto* instruction : computation->instructions()) {
      xla::OpMetadata metadata = instruction->metadata();
      metadata.set_op_type("@" + std::string(instruction->name()));
      instruction->set_metadata(metadata);
    }
}

}  // namespace hone::xla_side
