// Values of options: meshes, durations, lists of numbers, words.
#include <stdexcept>

#include "base/isa.h"
#include "base/text.h"
#include "sharding/mesh.h"
#include "sim/strategy_options.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void arguments(Bytes input) {
  const std::string text = text_of(input);
  expect_errors([&] {
    const sharding::Mesh mesh = sharding::parse_mesh(text);
    if (sharding::parse_mesh(mesh.text()).sizes != mesh.sizes) throw std::logic_error("a mesh is read back as another");
    if (mesh.devices() < 1) throw std::logic_error("a mesh without devices");
  });
  expect_errors([&] {
    if (!(parse_duration_s(text) >= 0)) throw std::logic_error("a duration below 0");
  });
  expect_errors([&] { parse_index_list(text); });
  expect_errors([&] { sim::parse_tasks(text); });
}

}  // namespace hone::fuzz
