// A ForEach for tests that starts a thread for each piece of work.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace hone {

inline void in_threads(size_t count, const std::function<void(size_t)>& work) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace hone
