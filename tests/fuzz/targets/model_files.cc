// Models and what is known of machines, as JSON.
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cost/analytical.h"
#include "cost/operation_ranker.h"
#include "features/columns.h"
#include "features/machine_record.h"
#include "features/scaler.h"
#include "tests/fuzz/targets/target.h"
#include "tune/kernel/calibration.h"

namespace hone::fuzz {

void model_files(Bytes input) {
  const int choice = take_choice(input, 5);
  const MemoryFile file(input);
  expect_errors([&] {
    if (choice == 0) cost::AnalyticalModel::load(file.path(), features::Cpu{});
    if (choice == 1) {
      const cost::OperationRanker ranker(file.path(), 1, "");
      Kernel operation;
      operation.fingerprint = "f";
      operation.dimension.key = "dot:f32[8,8]x[8,8]";
      ranker.sure_gain(operation, "onednn");
    }
    if (choice == 2) tune::Calibration::load(file.path(), "AMD avx512, one thread").to_json();
    if (choice == 3) features::Scaler::from_json(text_of(input), features::static_columns()).to_json();
    if (choice == 4)
      features::to_json(features::machine_record_from_json(
          nlohmann::json::parse(shallow_json(text_of(input)), nullptr, false), "file"));
  });
}

}  // namespace hone::fuzz
