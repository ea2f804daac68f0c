#include <fmt/core.h>

#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "data/dataset.h"

namespace hone {

Split Split::read(const std::string& path) {
  Split split;
  std::set<std::string> seen;
  std::istringstream lines(read_file(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const std::string where = fmt::format("{}, line {}", path, number);
    const size_t tab = line.find('\t');
    if (tab == std::string::npos || tab + 1 == line.size())
      throw Error("a line of a split must have a part, a tab and a program", where);
    const std::string part = line.substr(0, tab), program = line.substr(tab + 1);
    std::vector<std::string>* programs = part == "train"        ? &split.train
                                         : part == "validation" ? &split.validation
                                         : part == "test"       ? &split.test
                                                                : nullptr;
    if (programs == nullptr) throw Error("unknown part '" + part + "'", where, "train, validation or test");
    if (!seen.insert(program).second) throw Error("program '" + program + "' is in the split twice", where);
    programs->push_back(program);
  }
  return split;
}

}  // namespace hone
