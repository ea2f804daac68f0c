// The way from the program to libhone_learn.so, which holds all that needs torch. The library is looked for beside the
// running program (and in its ../lib) and opened on first use. Everything crosses as plain text or through one abstract
// class, so that a program never links torch and an exception never leaves the library it was thrown in.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace hone::cost {

// A trained network with its scaler. Predictions of a rank-trained model order the options of one kernel and mean nothing
// else; those of a model trained on run times are in ns.
class LearnedModel {
 public:
  virtual ~LearnedModel() = default;
  virtual std::string name() const = 0;
  virtual std::string task() const = 0;       // "tile" or "fusion"
  virtual bool predicts_runtime() const = 0;  // ns, not a score
  // Scores whose differences within a kernel are logarithms of ratios of run times: trained with the loss "ratio".
  virtual bool predicts_ratios() const { return false; }
  // One number per option of the kernel, lower = faster; run times of the view are not read. Throws Error when widths do
  // not fit the weights.
  virtual std::vector<double> predict(const KernelView& kernel) = 0;
};

// Reads weights of `hone train`, or a folder of them as one model (models/ensemble.h). Throws Error (where = path) for weights of another feature version or model, and for
// damaged files; RunError when the library is missing.
std::unique_ptr<LearnedModel> load_learned_model(const std::string& weights_path, int threads = 1);

// What a command inside the library may ask of the program around it.
struct LearnHost {
  bool (*interrupted)() = nullptr;
  int verbosity = 1;  // 0 errors only, 1 information, 2 everything
};

// Runs one command of the library ("train") to its end. The request and the response are described where the command is.
// Errors of the command arrive as the exceptions they were: Error, RunError, InternalError.
nlohmann::json run_learn_command(const std::string& command, const nlohmann::json& request, const LearnHost& host);

// The log of the library itself (base/log.h), declared here for sources that include torch: its include folder carries an fmt
// of its own, which spdlog must not meet.
void set_up_library_log(int verbosity);

// For folders that know more of the library: an exported function, opening the library first. Throws RunError when there is
// none.
void* learn_symbol(const char* name);
// Throws the exception that an error text of the library describes, and frees the text.
[[noreturn]] void throw_learn_error(char* text);

}  // namespace hone::cost
