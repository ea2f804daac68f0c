// Settings of the whole process that trainings share.
#pragma once

namespace hone::learn {

// Each step allocates the same activations and gradients again. Keeping freed memory saves the operating system's clearing of
// pages: a third of a step's time of a layout ranker, a fifth of that of an agent with layers of 2048.
void keep_freed_memory();

}  // namespace hone::learn
