#include "features/code_graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hone::features {
namespace {

bool jumps(const Instruction& i) {
  return (i.kind == CodeKind::k_branch || i.kind == CodeKind::k_jump) && !i.returns && !i.indirect;
}
bool ends_block(const Instruction& i) { return i.kind == CodeKind::k_branch || i.kind == CodeKind::k_jump; }

// The instruction that a jump goes to, or the number of instructions where that is elsewhere.
size_t target_of(std::span<const Instruction> instructions, std::span<const uint64_t> offsets, size_t jump) {
  const auto to = static_cast<uint64_t>(static_cast<int64_t>(offsets[jump]) + instructions[jump].branch_to);
  const auto found = std::lower_bound(offsets.begin(), offsets.end(), to);
  return found != offsets.end() && *found == to ? static_cast<size_t>(found - offsets.begin()) : offsets.size();
}

void find_blocks(std::span<const Instruction> instructions, std::span<const uint64_t> offsets, CodeGraph& graph) {
  const size_t count = instructions.size();
  std::vector<size_t> targets(count, count);
  std::vector<char> leads(count + 1, 0);
  leads[0] = leads[count] = 1;
  for (size_t i = 0; i < count; ++i) {
    if (!ends_block(instructions[i])) continue;
    leads[i + 1] = 1;
    if (jumps(instructions[i])) targets[i] = target_of(instructions, offsets, i), leads[targets[i]] = 1;
  }
  std::vector<int> block_of(count + 1, -1);
  for (size_t i = 0; i < count; ++i) {
    if (leads[i]) graph.blocks.push_back({.first = i, .last = i, .next = {}, .before = {}});
    graph.blocks.back().last = i;
    block_of[i] = static_cast<int>(graph.blocks.size()) - 1;
  }
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    CodeBlock& block = graph.blocks[b];
    const Instruction& end = instructions[block.last];
    if (targets[block.last] < count) block.next.push_back(block_of[targets[block.last]]);
    const bool goes_on = end.kind != CodeKind::k_jump && block.last + 1 < count;
    if (goes_on) block.next.push_back(static_cast<int>(b) + 1);
    for (const int next : block.next) graph.blocks[next].before.push_back(static_cast<int>(b));
  }
}

void find_order(CodeGraph& graph) {
  std::vector<char> seen(graph.blocks.size(), 0);
  std::vector<std::pair<int, size_t>> path = {{0, 0}};
  seen[0] = 1;
  while (!path.empty()) {
    auto& [block, at] = path.back();
    if (at == graph.blocks[block].next.size()) {
      graph.order.push_back(block);
      path.pop_back();
      continue;
    }
    const int next = graph.blocks[block].next[at++];
    if (!seen[next]) seen[next] = 1, path.emplace_back(next, 0);
  }
  std::reverse(graph.order.begin(), graph.order.end());
}

// Of each block the one nearest that all ways to it go through, by positions in the order (Cooper, Harvey and Kennedy 2001).
std::vector<int> dominators(const CodeGraph& graph, const std::vector<int>& place) {
  std::vector<int> above(graph.order.size(), -1);
  above[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t n = 1; n < graph.order.size(); ++n) {
      int common = -1;
      for (const int before : graph.blocks[graph.order[n]].before) {
        int p = place[before];
        if (p < 0 || above[p] < 0) continue;
        if (common < 0) {
          common = p;
          continue;
        }
        while (common != p) (common > p ? common : p) = above[std::max(common, p)];
      }
      changed = changed || above[n] != common;
      above[n] = common;
    }
  }
  return above;
}

void fill(const CodeGraph& graph, BlockLoop& loop) {
  loop.has.assign(graph.blocks.size(), 0);
  loop.has[loop.header] = 1;
  std::vector<int> open = loop.latches;
  while (!open.empty()) {
    const int block = open.back();
    open.pop_back();
    if (std::exchange(loop.has[block], char{1})) continue;
    const auto& before = graph.blocks[block].before;
    open.insert(open.end(), before.begin(), before.end());
  }
}

void find_loops(CodeGraph& graph) {
  std::vector<int> place(graph.blocks.size(), -1);
  for (size_t n = 0; n < graph.order.size(); ++n) place[graph.order[n]] = static_cast<int>(n);
  const std::vector<int> above = dominators(graph, place);
  std::map<int, std::vector<int>> latches;  // by the header's place
  for (const int block : graph.order)
    for (const int next : graph.blocks[block].next) {
      int p = place[block];
      while (p > place[next]) p = above[p];
      if (p == place[next]) latches[p].push_back(block);
    }
  graph.loop_of.assign(graph.blocks.size(), -1);
  // Nobody compiled code of so many loops: as if it had none, since what is known of each loop is of all blocks and instructions.
  constexpr size_t kMostWork = size_t{1} << 25;
  if (latches.size() > kMostWork / (graph.blocks.back().last + 1)) return;
  for (auto& [header, from] : latches) {
    std::sort(from.begin(), from.end());
    BlockLoop loop{.header = graph.order[header], .parent = -1, .latches = std::move(from), .has = {}};
    fill(graph, loop);
    loop.parent = graph.loop_of[loop.header];
    for (size_t b = 0; b < loop.has.size(); ++b)
      if (loop.has[b]) graph.loop_of[b] = static_cast<int>(graph.loops.size());
    graph.loops.push_back(std::move(loop));
  }
}

// The outermost loop that an edge leaves, or -1.
int left_by(const CodeGraph& graph, int from, int to) {
  int left = -1;
  for (int loop = graph.loop_of[from]; loop >= 0 && !graph.loops[loop].has[to]; loop = graph.loops[loop].parent)
    left = loop;
  return left;
}

}  // namespace

std::vector<double> block_runs(const CodeGraph& graph, std::span<const double> loop_runs,
                               std::span<const double> taken) {
  std::vector<double> arriving(graph.blocks.size(), 0), runs(graph.blocks.size(), 0), exits(graph.loops.size(), 0);
  for (const int block : graph.order)
    for (const int next : graph.blocks[block].next)
      if (const int loop = left_by(graph, block, next); loop >= 0) ++exits[loop];
  if (!graph.order.empty()) arriving[graph.order[0]] = 1;
  for (const int block : graph.order) {
    const CodeBlock& b = graph.blocks[block];
    const int own = graph.loop_of[block];
    const bool header = own >= 0 && graph.loops[own].header == block;
    runs[block] = arriving[block] * (header ? loop_runs[own] : 1);
    double left = 0;  // runs in which a loop ends
    int stays = 0;
    for (const int next : b.next) {
      const int loop = left_by(graph, block, next);
      if (loop < 0) {
        ++stays;
        continue;
      }
      const double leaves = arriving[graph.loops[loop].header] / exits[loop];
      arriving[next] += leaves;
      left += leaves;
    }
    for (size_t n = 0; n < b.next.size(); ++n) {
      if (left_by(graph, block, b.next[n]) >= 0) continue;
      const double share = stays < 2 ? 1 : n == 0 ? taken[block] : 1 - taken[block];
      bool back = false;
      for (int loop = own; loop >= 0; loop = graph.loops[loop].parent)
        back = back || graph.loops[loop].header == b.next[n];
      if (!back) arriving[b.next[n]] += std::max(0.0, runs[block] - left) * share;
    }
  }
  return runs;
}

CodeGraph code_graph(std::span<const Instruction> instructions, std::span<const uint64_t> offsets) {
  CodeGraph graph;
  if (instructions.empty()) return graph;
  find_blocks(instructions, offsets, graph);
  find_order(graph);
  find_loops(graph);
  return graph;
}

}  // namespace hone::features
