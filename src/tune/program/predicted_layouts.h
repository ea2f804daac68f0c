// Layouts of single instructions, by what the whole program is predicted to take after XLA has applied them: what a layout costs, copies
// and transposes and loops over far elements, is only seen in the lowered program. docs/decisions/0075-layouts-by-predicted-time.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/layout_space.h"
#include "tune/program/fusion_model.h"
#include "tune/session/session.h"

namespace hone::tune {

// The shipped trees that learnt from kernels of other layouts and forms, too; those that ship for all else know XLA's own alone and
// order layouts no better than chance.
inline constexpr char kVariedModel[] = "varied";

// Each of them by itself: the same trees, learnt from other kernels, see a gain in other layouts, and a duel decides.
using VariedModels = std::vector<std::unique_ptr<FusionModel>>;
// Those that come with Hone, or are in `models`, for this machine; none where there are none. Throws the errors of opening them.
VariedModels shipped_varied_models(const std::string& models, int threads, const std::string& max_isa);

struct PredictedLayout {
  Decision decision;  // one instruction's
  double margin =
      0;          // of the predicted times without over with it the logarithm: that of the model which sees most gain
  int place = 0;  // among single_layouts()
};

// ns of a run of the program with these layouts, by each model; nothing where it cannot be lowered or predicted.
using PredictLayouts = std::function<std::vector<double>(const Decisions& layouts)>;

// Every option of every instruction: the instructions that move most bytes first, the first option of each before the second of any.
std::vector<Decision> single_layouts(const std::vector<Dimension>& dimensions);

struct LayoutPredictions {
  int most = 64;        // programs that are lowered
  double budget_s = 3;  // of lowering
  std::function<bool()> should_stop = [] { return false; };
};

// The layouts that could be predicted, best first, one for each predicted time: layouts of the same time mostly lead to the same program,
// and those of XLA's own time to XLA's own program.
std::vector<PredictedLayout> predict_layouts(const LayoutSpace& layouts, const PredictLayouts& predict,
                                             const LayoutPredictions& options);

// The same of the loaded program under `base`: its time is the sum over its kernels by each model. At most 256 layouts, of large programs
// fewer. Throws Error where the layouts of the program cannot be listed.
std::vector<PredictedLayout> predict_layouts(Session& session, const Decisions& base, const VariedModels& models,
                                             double budget_s);

// At most `most` of them in the order to measure them: the best predicted and the one that moves most bytes by turns, since of the layouts
// that gain most half are predicted to lose (docs/results/layouts.md).
std::vector<PredictedLayout> in_turns(std::vector<PredictedLayout> predicted, size_t most);

}  // namespace hone::tune
