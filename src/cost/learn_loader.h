// libhone_learn.so, searched for in the running program's folder (and its ../lib) and opened on first use. The interface is
// plain text and one abstract class (learn_abi.h), so that programs do not link torch and exceptions do not cross libraries.
// Every function throws RunError if the library is missing or of another build.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cost/learn_abi.h"
#include "cost/learned_model.h"

namespace hone::cost {

// Reads one file of weights; throws the library's errors.
std::unique_ptr<LearnedModel> open_weights_file(const std::string& path, int threads);

// Runs one command of the library ("train") to its end. The request and the response are documented with the command.
// Errors of the command are rethrown as Error, RunError or InternalError.
nlohmann::json run_learn_command(const std::string& command, const nlohmann::json& request, const LearnHost& host);

// For folders that use further exported functions: opens the library and returns the function. Throws RunError if it does not
// exist.
void* learn_symbol(const char* name);

}  // namespace hone::cost
