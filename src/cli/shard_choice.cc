#include "cli/shard_choice.h"

namespace hone::cli {

namespace {

bool ran_faster(const ShardRow& a, const ShardRow& b) { return a.measured->seconds < b.measured->seconds; }

std::optional<size_t> best_verified(const std::vector<ShardRow>& rows,
                                    bool (*better)(const ShardRow&, const ShardRow&)) {
  std::optional<size_t> best;
  for (size_t i = 0; i < rows.size(); ++i)
    if (is_verified(rows[i]) && (!best || better(rows[i], rows[*best]))) best = i;
  return best;
}

}  // namespace

bool is_better(const ShardRow& a, const ShardRow& b) {
  if (a.estimate.valid != b.estimate.valid) return a.estimate.valid;
  return a.estimate.valid ? a.estimate.seconds < b.estimate.seconds : a.estimate.peak_bytes < b.estimate.peak_bytes;
}

bool is_verified(const ShardRow& row) { return row.measured && row.measured->outcome == tune::Outcome::Ok; }

std::optional<ShardChoice> choose_verified(const std::vector<ShardRow>& rows, size_t predicted, bool by_times) {
  const std::optional<size_t> best = is_verified(rows[predicted]) ? predicted : best_verified(rows, is_better);
  if (!best) return std::nullopt;
  const size_t fastest = *best_verified(rows, ran_faster);
  if (by_times && rows[*best].measured->seconds > kSurelySlower * rows[fastest].measured->seconds)
    return ShardChoice{fastest, true};
  return ShardChoice{*best, false};
}

}  // namespace hone::cli
