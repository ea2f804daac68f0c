// The gains of choices made without measuring: calibrated on programs that the model was not trained on, stored, and
// read back for that model only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tune/kernel/calibration.h"
#include "tune/program/fusion_model.h"
#include "tune/session/session.h"

namespace hone::optimize {

// The model that ranks the options of kernels: `given` (weights or a folder of them), or for "shipped" the one that
// comes with hone; `models` as in cost::shipped_model(). Its members predict by how much an option is faster; hone tune
// uses other models, which rank options better. Throws Error when there is none.
std::string ranking_model(const std::string& given, const std::string& models);

// The known gains of this model from `file`, or if that is empty from the one that comes with hone, which also contains
// rewrites of convolutions and poolings. Throws Error when the file describes another model.
// `machine`: the class whose gains these are; without any threshold where they were not measured on it or, with `or_similar`, on one of
// the same instruction set.
tune::Calibration known_gains(const std::string& model, const std::string& file, const std::string& models,
                              const std::string& machine, bool or_similar = false);
// The class of the machine that a data set is of; this machine's where the data set does not say.
std::string dataset_class(const std::string& dataset);

// The programs that a split file holds out for "validation" or "test". Throws Error.
std::vector<std::string> held_back_programs(const std::string& split, const std::string& part);

// Gains of the model's choices on kernels that hone collect measured. Throws Error for weights that do not rank options, and
// when the data set has none of the programs.
tune::Calibration calibrate(const std::string& model, const std::string& dataset,
                            const std::vector<std::string>& programs);
// The effect that choices by known gains would have had on these kernels, by program.
std::map<std::string, tune::JudgedProgram> judge(const std::string& model, const std::string& dataset,
                                                 const std::vector<std::string>& programs,
                                                 const tune::Calibration& gains);

// Opens the program in a file. Throws as request::open_program() does.
using OpenSession = std::function<std::unique_ptr<tune::Session>(const std::string& file)>;
// Called before each program.
using OnProgram = std::function<void(size_t done, size_t programs, const std::string& name)>;
// Gains of rewriting grouped convolutions and poolings to slices, measured on those of `programs` that the manifest
// (see collect::read_manifest()) names. An interrupt ends the measuring; the gains so far are returned. Throws Error
// when there is no program.
tune::Calibration calibrate_rewrites(const std::string& manifest, const std::vector<std::string>& programs,
                                     const OpenSession& open, const OnProgram& on_program);

// Measured and predicted gains of forms (forms.h): JSON objects, one a line, with the program, the transition, the class of the machine,
// the margin that a model gave which had not seen the program, and the measured ratio (bench/autotune/variants.cc). One calibration for
// each class, for `model`: weights of run times or a folder of them. Throws Error (where = rows and the line).
std::vector<tune::Calibration> calibrate_forms(const std::string& rows, const std::string& model);

// The shipped model of run times and what its choices of forms gain on this class of machines; without a model where none is shipped, or
// the gains are another model's. Choices by them need a duel.
struct FormsModel {
  std::unique_ptr<tune::FusionModel> run_times;
  tune::Calibration gains;
};
FormsModel shipped_forms_model(const std::string& models, const std::string& machine, const features::Cpu& cpu);

}  // namespace hone::optimize
