// Where the weights lie that come with the program.
#pragma once

#include <string>

namespace hone::cost {

// Path of the model NAME: in the folder `models` where one is given (--models), else among those that come with the
// program: data/models beside a build, or share/hone/models of an installation. Empty where none of them has it.
std::string shipped_model(const std::string& name, const std::string& models = "");

// The folder NAME of the data that come with the program ("topologies"); data/NAME below the current folder where there is
// none.
std::string shipped_folder(const std::string& name);

}  // namespace hone::cost
