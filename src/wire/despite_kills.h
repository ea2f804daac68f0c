// Repeats requests whose worker was killed from outside.
#pragma once

#include "base/log.h"
#include "wire/client.h"

namespace hone::wire {

inline constexpr int kKills = 3;  // attempts at one request

// The result of `call`, repeated when the worker was killed from outside. Not for candidates, which get one attempt.
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
