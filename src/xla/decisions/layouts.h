// Which layouts of a program can be decided, and the decided ones (see the seam "layout").
#pragma once
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/decision.h"
#include "graph/layout_choice.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

struct LayoutListing {
  std::string module_proto;  // the module when XLA assigns layouts, every array row-major
  // By instruction of that module; the first option is XLA's own, `weight` the bytes that one run of the instruction reads and
  // writes, `count` how often it runs.
  std::vector<Dimension> dimensions;
};

// Read by the seam, like SeamTable: one module compiles at a time.
struct LayoutTable {
  std::unordered_map<std::string, LayoutChoice> decided;  // by instruction name
  std::set<std::string> met;                              // out: decided instructions that XLA asked about
  LayoutListing* space = nullptr;                         // out, when wanted
};
LayoutTable& layout_table();

// Fills the table for one run of the passes. The destructor clears it.
class LayoutScope {
 public:
  explicit LayoutScope(const Decisions& decisions);  // throws Error for invalid values, or when the seam is off
  ~LayoutScope();
  LayoutScope(const LayoutScope&) = delete;
  void check_all_met() const;  // throws Error when a decided instruction does not exist
};

// Called by the seam before the first layout of a module is assigned.
void record_layout_listing(const xla::HloModule& module);

// Throws Error when the layout seam is off.
void require_layout_seam();

}  // namespace hone::xla_side
