// Apart from the sources that include torch: torch's include folder carries an fmt of its own, which spdlog must not meet.
#include "base/log.h"

#include "train/commands.h"

namespace hone::train {

void set_up_library_log(int verbosity) { set_up_log(static_cast<Verbosity>(verbosity)); }

}  // namespace hone::train
