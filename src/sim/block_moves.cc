#include "sim/block_moves.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/planners.h"

namespace hone::sim {

namespace {

constexpr double kFocused = 0.5;                     // of blocks that contain an operation of the critical path
constexpr int64_t kMostBlocks = 6;                   // of one move
constexpr double kTaskShare = 0.5;                   // of moves that change a task, if there are several
constexpr double kWholeKernels = 0.5;                // of blocks that are extended to whole kernels
constexpr double kOneDevice = 0.5;                   // of runs that leave out what is on other devices
constexpr double kToNeighbour = 0.5;                 // of placements that go where a neighbour is
constexpr double kSwap = 0.15;                       // of placements that exchange two devices
constexpr double kNotFused = 0.3, kReference = 0.3;  // of changes of fusion: nothing, or the reference
constexpr int kTries = 8;                            // until a move changes something

// The longest path to each operation, in operations.
std::vector<int32_t> levels_of(const Simulator& simulator) {
  const TaskGraph& graph = simulator.graph();
  const Neighbours& producers = simulator.producers();
  std::vector<int32_t> level(graph.ops.size(), 0);
  for (int32_t i = 0; i < graph.size(); ++i)
    for (int32_t e = producers.offset[i]; e < producers.offset[i + 1]; ++e)
      level[i] = std::max(level[i], level[producers.list[e]] + 1);
  return level;
}

}  // namespace

BlockMoves::BlockMoves(Simulator& simulator, const Tasks& tasks, Plan& plan, std::vector<int32_t> reference,
                       const MoveSizes& sizes)
    : simulator_(simulator), plan_(plan), sizes_(sizes), reference_(std::move(reference)) {
  const TaskGraph& graph = simulator.graph();
  const Neighbours& producers = simulator.producers();
  const auto n = static_cast<size_t>(graph.size());
  if (tasks.placement && simulator.topology().size() > 1) moves_.push_back(&BlockMoves::move_placement);
  if (tasks.fusion) moves_.push_back(&BlockMoves::move_fusion);
  if (tasks.schedule) moves_.push_back(&BlockMoves::move_schedule);
  if (tasks.placement) plan.device.resize(n, 0);
  if (tasks.fusion) plan.fusion.resize(n, 0);
  reference_.resize(n, 0);
  for (int32_t i = 0; i < graph.size(); ++i)
    if (graph.ops[i].kind != OpKind::Input) order_[0].push_back(i);
  const std::vector<int32_t> level = levels_of(simulator);
  order_[1] = order_[0];
  std::stable_sort(order_[1].begin(), order_[1].end(), [&](int32_t a, int32_t b) { return level[a] < level[b]; });
  for (size_t o = 0; o < order_.size(); ++o) {
    place_[o].assign(n, -1);
    for (size_t p = 0; p < order_[o].size(); ++p) place_[o][order_[o][p]] = static_cast<int32_t>(p);
  }
  heaviest_.assign(n, -1);
  for (int32_t i : order_[0])
    for (int32_t e = producers.offset[i]; e < producers.offset[i + 1]; ++e) {
      const int32_t from = producers.list[e];
      if (place_[0][from] < 0) continue;
      if (heaviest_[i] < 0 || graph.ops[from].output_bytes > graph.ops[heaviest_[i]].output_bytes) heaviest_[i] = from;
    }
  seen_.assign(n, 0);
  if (!tasks.schedule) return;
  if (plan.schedule.empty())
    order_by_trace(simulator);
  else
    rank(plan.schedule);
}

bool BlockMoves::possible() const { return !moves_.empty() && !order_[0].empty(); }

// Ranks by a schedule and puts all operations into the middle level, which changes nothing.
void BlockMoves::rank(const std::vector<int32_t>& schedule) {
  const auto n = static_cast<int32_t>(schedule.size());
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return schedule[a] > schedule[b]; });
  rank_.assign(n, 0);
  for (int32_t p = 0; p < n; ++p) rank_[order[p]] = n - 1 - p;
  std::vector<int32_t> ranked(n);
  for (int32_t i = 0; i < n; ++i) ranked[i] = kLevels / 2 * n + rank_[i];
  plan_.schedule = std::move(ranked);
}

// The order in which kernels start when the one that became ready first runs first.
void BlockMoves::order_by_trace(Simulator& simulator) {
  StepTrace trace;
  simulator.run(plan_, &trace);
  std::vector<int32_t> schedule(seen_.size(), 0);
  for (size_t r = 0; r < trace.runs.size(); ++r) {
    const int32_t k = trace.runs[r].kernel;
    for (int32_t m = trace.kernels.member_offset[k]; m < trace.kernels.member_offset[k + 1]; ++m)
      schedule[trace.kernels.member[m]] = static_cast<int32_t>(trace.runs.size() - r);
  }
  rank(schedule);
}

void BlockMoves::focus(const StepTrace& trace) {
  focus_.clear();
  for (int32_t k : trace.critical_path) focus_.push_back(trace.kernels.root[k]);
}

std::vector<int32_t>& BlockMoves::list_of(MoveChange::List list) {
  return list == MoveChange::Device ? plan_.device : list == MoveChange::Fusion ? plan_.fusion : plan_.schedule;
}

void BlockMoves::set(MoveChange::List list, int32_t op, int32_t value) {
  int32_t& entry = list_of(list)[op];
  if (entry == value) return;
  last_.changes.push_back({list, op, entry, value});
  entry = value;
}

void BlockMoves::undo() {
  for (auto it = last_.changes.rbegin(); it != last_.changes.rend(); ++it) list_of(it->list)[it->op] = it->before;
  last_ = {};
}

Move BlockMoves::drawn(Rng& rng) {
  apply(rng);
  Move move = last_;
  undo();
  return move;
}

void BlockMoves::apply(const Move& move) {
  last_ = move;
  for (const MoveChange& change : move.changes) list_of(change.list)[change.op] = change.after;
}

void BlockMoves::apply(Rng& rng) {
  last_ = {};
  for (int tries = 0; tries < kTries && last_.changes.empty(); ++tries) {
    const int64_t blocks = rng.uniform() < sizes_.single ? 1 : 2 + rng.below(kMostBlocks - 1);
    const auto always = static_cast<size_t>(rng.below(static_cast<int64_t>(moves_.size())));
    std::array<bool, 3> chosen{};
    for (size_t m = 0; m < moves_.size(); ++m) chosen[m] = m == always || rng.uniform() < kTaskShare;
    for (int64_t b = 0; b < blocks; ++b) {
      pick_block(rng);
      for (size_t m = 0; m < moves_.size(); ++m)
        if (chosen[m]) (this->*moves_[m])(rng);
    }
  }
}

int32_t BlockMoves::begin(Rng& rng) const {
  const std::vector<int32_t>& from = !focus_.empty() && rng.uniform() < kFocused ? focus_ : order_[0];
  return from[rng.below(static_cast<int64_t>(from.size()))];
}

void BlockMoves::add(int32_t op) {
  if (seen_[op] == stamp_ || place_[0][op] < 0) return;
  seen_[op] = stamp_;
  block_.push_back(op);
}

void BlockMoves::pick_block(Rng& rng) {
  block_.clear();
  ++stamp_;
  const auto size = static_cast<double>(order_[0].size());
  const auto length = static_cast<int64_t>(
      std::exp(rng.uniform() * std::log(std::max(sizes_.largest > 0 ? 2.0 : 1.0, size * sizes_.largest))));
  const int32_t from = begin(rng);
  constexpr std::array kKinds = {BlockKind::Run,    BlockKind::Run,   BlockKind::Run,   BlockKind::Producers,
                                 BlockKind::Around, BlockKind::Chain, BlockKind::Kernel};
  const BlockKind kind = kKinds[rng.below(plan_.fusion.empty() ? 6 : 7)];
  ++last_.blocks[static_cast<size_t>(kind)];
  switch (kind) {
    case BlockKind::Run:
      pick_run(rng, from, length);
      break;
    case BlockKind::Producers:
      pick_around(from, length, false);
      break;
    case BlockKind::Around:
      pick_around(from, length, true);
      break;
    case BlockKind::Chain:
      pick_chain(from, length);
      break;
    case BlockKind::Kernel:
      pick_kernel(from, length);
  }
  if (!plan_.fusion.empty() && rng.uniform() < kWholeKernels) close_kernels();
}

void BlockMoves::pick_run(Rng& rng, int32_t from, int64_t length) {
  const size_t which = rng.uniform() < 0.6 ? 0 : 1;
  const std::vector<int32_t>& order = order_[which];
  const bool one_device = !plan_.device.empty() && rng.uniform() < kOneDevice;
  int64_t at = std::max<int64_t>(0, place_[which][from] - rng.below(length));
  const int64_t end = std::min<int64_t>(at + length, static_cast<int64_t>(order.size()));
  for (; at < end; ++at)
    if (!one_device || plan_.device[order[at]] == plan_.device[from]) add(order[at]);
}

// Breadth first: what `from` is computed from, with `down` also what is computed from it.
void BlockMoves::pick_around(int32_t from, int64_t length, bool down) {
  const Neighbours &producers = simulator_.producers(), &consumers = simulator_.consumers();
  add(from);
  for (size_t at = 0; at < block_.size() && static_cast<int64_t>(block_.size()) < length; ++at) {
    const int32_t op = block_[at];
    for (int32_t e = producers.offset[op]; e < producers.offset[op + 1]; ++e) add(producers.list[e]);
    if (!down) continue;
    for (int32_t e = consumers.offset[op]; e < consumers.offset[op + 1]; ++e) add(consumers.list[e]);
  }
  if (static_cast<int64_t>(block_.size()) > length) block_.resize(length);
}

void BlockMoves::pick_chain(int32_t from, int64_t length) {
  for (int32_t op = from; op >= 0 && static_cast<int64_t>(block_.size()) < length; op = heaviest_[op]) add(op);
}

void BlockMoves::pick_kernel(int32_t from, int64_t length) {
  add(from);
  for (int64_t more = 1; more < length && place_[0][from] + more < static_cast<int64_t>(order_[0].size()) && more < 8;
       ++more)
    add(order_[0][place_[0][from] + more]);
  close_kernels();
}

// Adds what the block's operations are fused with, up to a size.
void BlockMoves::close_kernels() {
  const Neighbours &producers = simulator_.producers(), &consumers = simulator_.consumers();
  const size_t most = 2 * block_.size() + 64;
  const auto moves_along = [&](int32_t op) {
    return plan_.fusion[op] > 0 && fusible_producer(simulator_.graph().ops[op]);
  };
  for (size_t at = 0; at < block_.size() && block_.size() < most; ++at) {
    const int32_t op = block_[at];
    for (int32_t e = producers.offset[op]; e < producers.offset[op + 1]; ++e)
      if (moves_along(producers.list[e])) add(producers.list[e]);
    if (!moves_along(op)) continue;
    for (int32_t e = consumers.offset[op]; e < consumers.offset[op + 1]; ++e) add(consumers.list[e]);
  }
}

// The device of an operation beside one of the block's.
int32_t BlockMoves::neighbour_device(Rng& rng) const {
  const int32_t op = block_[rng.below(static_cast<int64_t>(block_.size()))];
  const Neighbours& side = rng.uniform() < 0.5 ? simulator_.producers() : simulator_.consumers();
  const int32_t count = side.offset[op + 1] - side.offset[op];
  if (count == 0) return plan_.device[op];
  const int32_t other = side.list[side.offset[op] + static_cast<int32_t>(rng.below(count))];
  return plan_.device[place_[0][other] < 0 ? op : other];
}

void BlockMoves::move_placement(Rng& rng) {
  const int32_t here = plan_.device[block_.front()], devices = simulator_.topology().size();
  int32_t to = here;
  if (rng.uniform() < kToNeighbour)
    for (int tries = 0; tries < kTries && to == here; ++tries) to = neighbour_device(rng);
  if (to == here) to = static_cast<int32_t>(rng.below(devices));
  const bool swaps = rng.uniform() < kSwap;
  for (int32_t op : block_)
    if (!swaps)
      set(MoveChange::Device, op, to);
    else if (plan_.device[op] == here || plan_.device[op] == to)
      set(MoveChange::Device, op, here + to - plan_.device[op]);
}

void BlockMoves::move_fusion(Rng& rng) {
  const double how = rng.uniform();
  const int32_t level = how < kNotFused ? 0 : 1 + static_cast<int32_t>(rng.below(kFusionLevels - 1));
  const bool back = how >= kNotFused && how < kNotFused + kReference;
  for (int32_t op : block_)
    if (fusible_producer(simulator_.graph().ops[op])) set(MoveChange::Fusion, op, back ? reference_[op] : level);
}

void BlockMoves::move_schedule(Rng& rng) {
  const auto level = static_cast<int32_t>(rng.below(kLevels));
  for (int32_t op : block_) set(MoveChange::Schedule, op, level * static_cast<int32_t>(rank_.size()) + rank_[op]);
}

}  // namespace hone::sim
