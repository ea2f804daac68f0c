#include "cost/resource_counts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "features/columns.h"
#include "features/encoded.h"

namespace hone::cost {

namespace {

constexpr int kTileSizes = 6;  // in an option's features
constexpr double kLine = 64;
constexpr double kCodeVectorBits = 256;  // XLA:CPU's default, even if the machine supports more
constexpr int kVectorRegisters = 16;

struct OptionColumns {
  int tile, tiled, loop, eigen, ynn, llvm, naive;
};
const OptionColumns& option_columns() {
  const auto at = [](const char* name) { return features::column_index(features::tile_columns(), name); };
  static const OptionColumns c = {at("tile_0"),      at("tiled_emitter"), at("loop_emitter"), at("library_eigen"),
                                  at("library_ynn"), at("library_llvm"),  at("library_naive")};
  return c;
}

struct Loop {
  int axis;
  double trips;
};

double footprint_of_all(const LoopNest& kernel, const PerAxis& extent) {
  double sum = 0;
  for (const Access& a : kernel.accesses) sum += footprint_bytes(a, extent);
  return sum;
}

// Bytes read into a cache of `capacity` bytes in one run after another: the trips of the inner loops that fit reuse shared
// data in the cache; every further trip reads its data again.
double traffic_bytes(const LoopNest& kernel, const std::vector<Loop>& loops, double capacity) {
  PerAxis extent, whole;
  extent.fill(1), whole.fill(1);
  std::copy(kernel.extent.begin(), kernel.extent.end(), whole.begin());
  const double all = footprint_of_all(kernel, whole);
  if (all <= capacity) return 0;
  size_t next = loops.size();
  double outside = 1;  // trips of the loops that do not fit into the cache
  while (next > 0) {
    const Loop& loop = loops[--next];
    const double before = extent[loop.axis];
    const auto with = [&](double trips) {
      extent[loop.axis] = std::min(whole[loop.axis], before * trips);
      return footprint_of_all(kernel, extent);
    };
    if (with(loop.trips) <= capacity) continue;
    double low = 1, high = loop.trips;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (with(middle) <= capacity ? low : high) = middle;
    }
    with(low);
    outside = loop.trips / low;
    break;
  }
  const double inside = footprint_of_all(kernel, extent);
  while (next > 0) outside *= loops[--next].trips;
  return std::max(inside * outside, all);
}

std::vector<double> tile_of(const LoopNest& kernel, std::span<const float> option) {
  const OptionColumns& c = option_columns();
  if (option[c.tiled] <= 0) return {};
  std::vector<double> sizes;
  for (int i = 0; i < kTileSizes && option[c.tile + i] > 0; ++i) sizes.push_back(option[c.tile + i]);
  if (static_cast<int>(sizes.size()) < kernel.outputs) return {};
  sizes.erase(sizes.begin(), sizes.end() - kernel.outputs);
  for (int d = 0; d < kernel.outputs; ++d) sizes[d] = std::min(sizes[d], kernel.extent[d]);
  return sizes;
}

uint32_t axes_moving(const Access& access) {
  uint32_t axes = 0;
  for (int a = 0; a < kMaxAxes; ++a) axes |= (access.stride_bytes[a] != 0 ? 1u : 0u) << a;
  return axes;
}

void count_loop_work(const LoopNest& k, const std::vector<Loop>& loops, double lanes, ResourceCounts& out) {
  // Number of executions: code that is invariant in the innermost loops is hoisted out of them.
  const auto count = [&](uint32_t depends, uint32_t scope) {
    double trips = 1;
    bool hoisted = true;
    for (size_t i = loops.size(); i-- > 0;) {
      const uint32_t bit = 1u << loops[i].axis;
      if (!(scope & bit)) continue;
      hoisted = hoisted && !(depends & bit);
      if (!hoisted) trips *= loops[i].trips;
    }
    return trips;
  };
  const auto one_by_one = [&](const Access& a) {
    return !loops.empty() && a.stride_bytes[loops.back().axis] > a.element_bytes;
  };
  const bool strided = std::any_of(k.accesses.begin(), k.accesses.end(), one_by_one);
  for (const Work& w : k.work) {
    const double times = count(w.depends, w.scope) * w.cost;
    const bool reduced = w.scope >> k.outputs;  // without reassociation sums are sequential
    if (strided || reduced)
      out.scalar_ops += times;
    else
      (w.special ? out.special_ops : out.vector_ops) += times / lanes;
  }
  for (const Access& a : k.accesses) {
    const double times = count(axes_moving(a), ~0u);
    (one_by_one(a) ? out.scalar_ops : out.vector_ops) += one_by_one(a) ? times : times / lanes;
  }
  out.rows = 1;
  for (size_t i = 0; i + 1 < loops.size(); ++i) out.rows *= loops[i].trips;
}

void count_tile_work(const LoopNest& k, const std::vector<double>& tile, double lanes, ResourceCounts& out) {
  double tiles = 1;
  for (int d = 0; d < k.outputs; ++d) tiles *= std::ceil(k.extent[d] / tile[d]);
  const int minor = k.order.empty() ? -1 : k.order.back();
  const double run = minor < 0 ? 1 : k.reduces_minor ? lanes : tile[minor];
  const double filled = run / (lanes * std::ceil(run / lanes));
  double registers = 1;
  for (int d = 0; d < k.outputs; ++d) registers *= d == minor ? std::ceil(tile[d] / lanes) : tile[d];
  const auto elements = [&](uint32_t axes) {
    double product = 1;
    for (size_t a = 0; a < k.extent.size(); ++a)
      if (axes >> a & 1) product *= static_cast<int>(a) < k.outputs ? tile[a] : k.extent[a];
    return product;
  };
  for (const Work& w : k.work) {
    const double vectors = tiles * elements(w.depends) * w.cost / (lanes * filled);
    (w.special ? out.special_ops : out.vector_ops) += vectors;
    if (registers > kVectorRegisters) out.spill_ops += tiles * elements(w.depends) / (lanes * filled);
  }
  for (const Access& a : k.accesses) {
    const bool one_by_one = minor >= 0 && a.stride_bytes[minor] > a.element_bytes;
    const double touched = tiles * elements(axes_moving(a));
    (one_by_one ? out.scalar_ops : out.vector_ops) += one_by_one ? touched : touched / (lanes * filled);
  }
  out.tiles = tiles;
  double inside = 1;
  for (int d = 0; d < k.outputs; ++d) inside *= d == minor ? 1 : tile[d];
  out.rows = tiles * inside;
}

}  // namespace

const char* emitter_name(Emitter e) {
  static constexpr const char* kNames[kEmitters] = {"loop", "tiled", "library"};
  return kNames[static_cast<int>(e)];
}

double footprint_bytes(const Access& access, const PerAxis& extent) {
  std::array<std::pair<double, double>, kMaxAxes> walks;  // stride, extent
  int count = 0;
  for (int a = 0; a < kMaxAxes; ++a)
    if (access.stride_bytes[a] > 0 && extent[a] > 1) walks[count++] = {access.stride_bytes[a], extent[a]};
  std::sort(walks.begin(), walks.begin() + count);
  double run = access.element_bytes, pieces = 1;
  for (int i = 0; i < count; ++i) {
    const auto [stride, times] = walks[i];
    if (pieces == 1 && stride <= std::max(run, kLine))
      run += (times - 1) * stride;
    else
      pieces *= times;
  }
  return pieces * std::max(run, kLine);
}

ResourceCounts count_resources(const LoopNest& k, std::span<const float> option, const features::Cpu& cpu) {
  const OptionColumns& c = option_columns();
  if (option.size() != static_cast<size_t>(features::tile_feature_count()))
    throw Error("an option's features have the wrong width", "", "collect the data set again");
  ResourceCounts out;
  const std::vector<double> tile = tile_of(k, option);
  const double lanes = std::min<double>(kCodeVectorBits, static_cast<double>(cpu.vector_bits)) / 8 / k.element_bytes;
  const bool library = k.flops > 0 && option[c.loop] <= 0 && tile.empty();
  std::vector<Loop> loops;
  if (library) {
    out.emitter = Emitter::Library;
    out.matmul_ops = k.flops / 2 / (lanes * k.library_lanes);
  } else if (!tile.empty()) {
    out.emitter = Emitter::Tiled;
    for (int a : k.order) loops.push_back({a, std::ceil(k.extent[a] / tile[a])});
    for (size_t a = k.outputs; a < k.extent.size(); ++a) loops.push_back({static_cast<int>(a), k.extent[a]});
    for (int a : k.order) loops.push_back({a, tile[a]});
    count_tile_work(k, tile, std::max(1.0, lanes), out);
  } else {
    for (int a : k.order) loops.push_back({a, k.extent[a]});
    for (size_t a = k.outputs; a < k.extent.size(); ++a) loops.push_back({static_cast<int>(a), k.extent[a]});
    count_loop_work(k, loops, std::max(1.0, lanes), out);
    if (k.flops > 0) out.scalar_ops += k.flops / 2;
  }
  const double caches[] = {static_cast<double>(cpu.l1_bytes), static_cast<double>(cpu.l2_bytes),
                           static_cast<double>(cpu.l3_bytes)};
  for (int level = 0; level < 3; ++level) {
    if (caches[level] <= 0) continue;
    if (!library) {
      out.bytes[level] = traffic_bytes(k, loops, caches[level]);
      continue;
    }
    // Libraries block their loops: each array is read about once.
    out.bytes[level] = k.bytes > caches[level] ? k.bytes : 0;
  }
  return out;
}

}  // namespace hone::cost
