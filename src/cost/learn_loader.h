// libhone_learn.so, looked for beside the running program (and in its ../lib) and opened on first use. Everything crosses
// as plain text or through one abstract class (learn_abi.h), so that a program never links torch and an exception never
// leaves the library it was thrown in. Every function throws RunError when there is no library, or one of another build.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cost/learn_abi.h"
#include "cost/learned_model.h"

namespace hone::cost {

// Reads one file of weights; throws what the library says is wrong with it.
std::unique_ptr<LearnedModel> open_weights_file(const std::string& path, int threads);

// Runs one command of the library ("train") to its end. The request and the response are described where the command is.
// Errors of the command arrive as the exceptions they were: Error, RunError, InternalError.
nlohmann::json run_learn_command(const std::string& command, const nlohmann::json& request, const LearnHost& host);

// For folders that know more of the library: an exported function, opening the library first. Throws RunError when there is
// none.
void* learn_symbol(const char* name);
// Throws the exception that an error text of the library describes, and frees the text.
[[noreturn]] void throw_learn_error(char* text);

}  // namespace hone::cost
