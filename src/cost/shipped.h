// The paths of the shipped weights and data.
#pragma once

#include <string>

namespace hone::cost {

// Path of the model NAME: in the folder `models` if it is given (--models), else among the shipped ones: data/models beside a
// build, or share/hone/models of an installation. Empty if it is in none of them.
std::string shipped_model(const std::string& name, const std::string& models = "");

// Path of the file NAME of the shipped data ("known.db"); empty if there is none.
std::string shipped_file(const std::string& name);

// The folder NAME of the shipped data ("topologies"); if there is none, data/NAME in the current folder.
std::string shipped_folder(const std::string& name);

}  // namespace hone::cost
