#include "features/columns.h"

#include "base/error.h"

namespace hone::features {

int column_index(const std::vector<Column>& columns, const std::string& name) {
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return static_cast<int>(i);
  throw InternalError("there is no feature column " + name);
}

}  // namespace hone::features
