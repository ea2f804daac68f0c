// Errors of the C interface of the environments (gym_api.h), which no exception may leave.
#pragma once

#include <functional>

namespace hone::passorder {

const char* last_error_text();  // of this thread, as JSON
// Does the work; false if it threw, with the error kept for hone_gym_error() in this thread.
bool guarded(const std::function<void()>& work);

}  // namespace hone::passorder
