// Where the weights lie that come with the program.
#pragma once

#include <string>

namespace hone::cost {

// Path of data/models/NAME: in the folder that the variable HONE_MODELS names, beside a build, or installed under
// share/hone. Empty where none of them has it.
std::string shipped_model(const std::string& name);

}  // namespace hone::cost
