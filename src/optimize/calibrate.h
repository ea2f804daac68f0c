// What choices without measuring are worth: measured on programs that the model was not trained on, stored, and read again
// for the one model they are about.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tune/kernel/calibration.h"
#include "tune/session/session.h"

namespace hone::optimize {

// The model that ranks the options of kernels: `given` (weights or a folder of them), or where that is "shipped" the one that
// comes with hone; `models` as in cost::shipped_model(). Its members say by how much an option is faster; hone tune ranks by
// others, which order options better. Throws Error when there is none.
std::string ranking_model(const std::string& given, const std::string& models);

// The gains known of this very model, from `file`, or where that is empty from those that come with hone, which also know
// rewrites of convolutions and poolings. Throws Error when they are about another model.
tune::Calibration known_gains(const std::string& model, const std::string& file, const std::string& models);

// The programs that a split file keeps for "validation" or for the "test". Throws Error.
std::vector<std::string> held_back_programs(const std::string& split, const std::string& part);

// Gains of the model's choices on kernels that hone collect measured. Throws Error for weights that do not rank options, and
// when the data set knows none of the programs.
tune::Calibration calibrate(const std::string& model, const std::string& dataset,
                            const std::vector<std::string>& programs);
// What choices by known gains would have done to these kernels, by program.
std::map<std::string, tune::JudgedProgram> judge(const std::string& model, const std::string& dataset,
                                                 const std::vector<std::string>& programs,
                                                 const tune::Calibration& gains);

// Opens the program in a file. Throws as request::open_program() does.
using OpenSession = std::function<std::unique_ptr<tune::Session>(const std::string& file)>;
// Called before each program.
using OnProgram = std::function<void(size_t done, size_t programs, const std::string& name)>;
// Gains of rewriting grouped convolutions and poolings to slices, measured on those of `programs` that the manifest (as
// collect::read_manifest() takes it) names. An interrupt ends the measuring; what there is then is returned. Throws Error
// when there is no program.
tune::Calibration calibrate_rewrites(const std::string& manifest, const std::vector<std::string>& programs,
                                     const OpenSession& open, const OnProgram& on_program);

}  // namespace hone::optimize
