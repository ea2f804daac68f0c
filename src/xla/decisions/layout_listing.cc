#include "decisions/layout_listing.h"

#include "decisions/lower.h"
#include "xla_pch.h"

namespace hone::xla_side {

LayoutListing layout_listing(const xla::HloModule& program, const CompileTarget& target, const Decisions& under) {
  require_layout_seam();
  LayoutListing space;
  struct Recording {
    explicit Recording(LayoutListing* space) { layout_table().space = space; }
    ~Recording() { layout_table().space = nullptr; }
  } recording(&space);
  lower(program, target, under);
  return space;
}

}  // namespace hone::xla_side
