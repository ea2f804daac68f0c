// Settings of the whole process, or of the calling thread, that trainings share.
#pragma once

namespace hone::learn {

// Each step allocates the same activations and gradients again. Keeping freed memory saves the operating system's clearing of
// pages: a third of a step's time of a layout ranker, a sixth of that of an agent with layers of 2048.
void keep_freed_memory();

// Keeps freed memory, sets the threads of torch's operations, and takes denormal numbers for zero in this thread: Adam's
// moments of units that have died (ReLU) fade through them, and took 40 % of the time of DQN with layers of 2048.
void begin_training(int threads);

}  // namespace hone::learn
