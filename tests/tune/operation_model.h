// A model of operations whose predictions depend on the form alone.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "cost/operation_ranker.h"
#include "features/machine_record.h"
#include "features/operation_features.h"

namespace hone::tune {

inline constexpr char kGroupedConvolution[] =
    "convolution:f32[1,30,30,16]*f32[3,3,4,64]->f32[1,30,30,64]:b01f_01io->b01f:size=3x3 pad=1_1x1_1:groups 4";
inline constexpr char kSmallConvolution[] =
    "convolution:f32[1,30,30,16]*f32[3,3,16,64]->f32[1,30,30,64]:b01f_01io->b01f:size=3x3 pad=1_1x1_1";

// Median logarithms of gains: of Winograd's method with tiles of 4, of other tiles, of every other form. The quantiles are `spread`
// below and above.
struct FormGains {
  double of_four = 0, of_other_tiles = 0, of_others = 0, spread = 0.1;
  double more_of_constants = 0;  // of every form, where weights are constants
};

inline nlohmann::json form_trees(const FormGains& gains, double shift) {
  const auto& names = features::operation_feature_names();
  const auto of = [&](const char* name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  const auto tile = of("tile"), constant = of("constant");
  return {{"base", shift},
          {"trees",
           {{{"feature", {tile, -1, tile, tile, -1, -1, -1}},
             {"value", {1, gains.of_others, 5, 3, gains.of_other_tiles, gains.of_other_tiles, gains.of_four}},
             {"left", {1, 0, 3, 5, 0, 0, 0}}},
            {{"feature", {constant, -1, -1}}, {"value", {0.5, 0, gains.more_of_constants}}, {"left", {1, 0, 0}}}}}};
}

// `corrections`: of the lower bounds of Winograd's method for plain convolutions, of both forms of grouped ones, and of dots by oneDNN,
// on this machine, for all operations; none if it was not calibrated.
inline std::string write_operation_model(const TempDir& folder, const FormGains& gains, bool calibrated = true) {
  nlohmann::json corrections = nlohmann::json::object(), least = nlohmann::json::object();
  if (calibrated)
    for (const char* family :
         {"convolution winograd", "grouped-convolution shifted", "grouped-convolution onednn", "f32-dot onednn"}) {
      corrections[features::this_machine_class(1)][family] = -0.01;
      least[features::this_machine_class(1)][family] = 0;
    }
  const nlohmann::json model = {{"features", features::operation_feature_names()},
                                {"corrections", corrections},
                                {"least_log_flops", least},
                                {"groups",
                                 {{{"families", nlohmann::json::array()},
                                   {"low", form_trees(gains, -gains.spread)},
                                   {"middle", form_trees(gains, 0)},
                                   {"high", form_trees(gains, gains.spread)}}}}};
  const std::string path = (folder.path() / "operations.json").string();
  write_file(path, model.dump());
  return path;
}

}  // namespace hone::tune
