#include "kernels/winograd.h"

#include <algorithm>

#include "kernels/instruction_sets.h"
#include "kernels/thread_memory.h"
#include "kernels/winograd_tiles.h"

namespace hone {
namespace {

constexpr int64_t kCacheBytes = 1536 * 1024;  // of the inputs and products of a block
constexpr int64_t kLeastTiles = 48;           // of a block: all weights are read for each

// Of the widest vectors that the machine has and the features fill.
const WinogradKernel& kernel_for(const WinogradPlan& plan) {
  static const bool has_avx512 = has_avx512_kernels(), has_avx2 = has_avx2_kernels();
  const int64_t least = std::min(plan.features, plan.results);
  return has_avx512 && least >= 16 ? kWinogradAvx512 : has_avx2 && least >= 8 ? kWinogradAvx2 : kWinogradPortable;
}

// Numbers for each tile.
int64_t numbers_of_tile(const WinogradPlan& plan) {
  return plan.rows.reach * plan.columns.reach * (plan.features + plan.panels() * kWinogradPanel);
}

// Blocks of nearly the same size; as many for every thread.
int64_t count_blocks(const WinogradPlan& plan, int64_t tiles, int64_t rows, int threads) {
  const int64_t most = std::max(kLeastTiles, kCacheBytes / (4 * numbers_of_tile(plan)));
  int64_t blocks = (tiles + most - 1) / most;
  if (threads > 1) {
    const int64_t even = (blocks + threads - 1) / threads * threads;
    blocks = std::max(blocks, std::min(even, tiles / rows));
  }
  return std::max<int64_t>(blocks, 1);
}

}  // namespace

void winograd_convolution(const WinogradPlan& plan, const float* input, const float* weights, float* output,
                          int threads, const ForEach& for_each) {
  const int64_t tiles = plan.batch * plan.rows.tiles() * plan.columns.tiles();
  const WinogradKernel& kernel = kernel_for(plan);
  const int64_t blocks = count_blocks(plan, tiles, kernel.rows, threads);
  const auto work = [&](size_t i) {
    WinogradTiles block{.plan = &plan, .input = input, .weights = weights, .output = output};
    block.from = static_cast<int64_t>(i) * tiles / blocks;
    block.to = (static_cast<int64_t>(i) + 1) * tiles / blocks;
    constexpr int64_t kAlignment = 16;  // numbers, between inputs and products
    block.scratch = thread_memory((block.to - block.from) * numbers_of_tile(plan) + kAlignment);
    kernel.compute(block);
  };
  if (threads > 1 && for_each) return for_each(blocks, work);
  for (int64_t i = 0; i < blocks; ++i) work(i);
}

}  // namespace hone
