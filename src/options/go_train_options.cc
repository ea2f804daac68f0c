#include "options/go_train_options.h"

#include "base/error.h"
#include "options/option_json.h"
#include "options/require.h"

namespace hone::options {

void GoTrainOptions::validate() const {
  const Require require{"training options"};
  require(iterations >= 0, "iterations", "must not be negative");
  require(samples >= 2 && samples <= 4096, "samples", "must be 2 to 4096");
  require(epochs >= 1 && epochs <= 100, "epochs", "must be 1 to 100");
  require(threads >= 1 && threads <= 1024, "threads", "must be 1 to 1024");
  require(learning_rate > 0 && learning_rate <= 1, "learning_rate", "must be in (0, 1]");
  require(clip > 0 && clip < 1, "clip", "must be in (0, 1)");
  require(entropy >= 0, "entropy", "must not be negative");
  require(imitation >= 0, "imitation", "must not be negative");
  require(clip_norm >= 0, "clip_norm", "must not be negative");
  require(invalid_reward < -1, "invalid_reward", "must be below -1");
  require(from_best >= 0 && from_best <= 1, "from_best", "must be 0 to 1");
}

nlohmann::json to_json(const GoTrainOptions& options) { return write_options(options); }

GoTrainOptions go_train_options_from_json(const nlohmann::json& json) {
  GoTrainOptions options;
  read_options(json, "training", options);
  options.validate();
  return options;
}

}  // namespace hone::options
