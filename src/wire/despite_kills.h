// A request that is made again when the worker was killed from outside.
#pragma once

#include <utility>

#include "base/log.h"
#include "wire/client.h"

namespace hone::wire {

inline constexpr int kKills = 3;  // from outside; the last one fails the request

// The result of `call`, which is made again when the worker was killed from outside. Throws whatever else it throws. Not
// for candidates of a search: a kill costs those one try.
template <class Call>
auto despite_kills(Call&& call) {
  for (int kills = 1;; ++kills) {
    try {
      return call();
    } catch (const WorkerFailure& died) {
      if (died.kind() != WorkerFailure::Kind::Killed || kills == kKills) throw;
      spdlog::warn("{}; trying again", died.what());
    }
  }
}

}  // namespace hone::wire
