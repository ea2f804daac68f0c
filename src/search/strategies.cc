#include "search/strategies.h"

#include <functional>

#include "base/error.h"
#include "base/suggest.h"

namespace hone {
namespace {

struct Row {
  const char* name;
  std::function<std::unique_ptr<Strategy>()> make;
};

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {"exhaustive", [] { return make_exhaustive(); }},
      {"random", [] { return make_random(); }},
      {"greedy", [] { return make_greedy(); }},
      {"anneal", [] { return make_anneal(); }},
      {"anneal-linear", [] { return make_anneal({.geometric = false}); }},
      {"genetic", [] { return make_genetic(); }},
      {"beam", [] { return make_beam(); }},
  };
  return rows;
}

}  // namespace

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const Row& row : table()) names.push_back(row.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(const std::string& name) {
  for (const Row& row : table())
    if (name == row.name) return row.make();
  throw unknown_word("search strategy", name, strategy_names(), "--strategy");
}

}  // namespace hone
