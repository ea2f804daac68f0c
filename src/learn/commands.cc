#include "learn/commands.h"

#include "learn/agents/agent_commands.h"
#include "learn/go/go_commands.h"
#include "learn/layout/layout_commands.h"
#include "learn/train/train_commands.h"

namespace hone::learn {

const std::vector<LearnCommand>& learn_commands() {
  static const std::vector<LearnCommand> table = {
      {"train", run_train},
      {"train layout", run_train_layout},
      {"eval layout", run_eval_layout},
      {"rank layout", run_rank_layout},
      {"gym-train", run_gym_train},
      {"go-train", run_go_train},
      {"go-place", run_go_place},
  };
  return table;
}

}  // namespace hone::learn
