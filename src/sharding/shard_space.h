// The decisions of a sharding as a space of the searches: one dimension for each group of parameters and each group of large
// products, whose options are the ways to divide the array along the axes of the mesh.
#pragma once

#include <string>
#include <vector>

#include "graph/decision.h"
#include "sharding/arguments.h"
#include "sharding/mesh.h"

namespace hone::sharding {

// What a dimension of the space is about. `options` are those of the dimension, in its order; the first is replicated, which of a
// product means: as XLA's propagation has it.
struct Subject {
  bool product = false;
  int group = 0;
  std::vector<int> members = {};  // indices into ProgramArguments' arguments or products
  std::vector<Spec> options = {};
};

struct ShardSpace {
  Mesh mesh;
  ProgramArguments program;
  std::vector<Subject> subjects;
  Space space;  // one dimension for each subject

  // The option of a subject that is this; -1 where there is none.
  static int option(const Subject& subject, const Spec& spec);
  // The subject of an argument's group; -1 where it is not decided: it is replicated.
  int subject_of_argument(int group) const;
  const Spec& spec(size_t subject, const Choice& choice) const { return subjects[subject].options[choice[subject]]; }
};

// Instruction and HLO text of its sharding; nothing for what the choice leaves to XLA.
struct NamedSharding {
  std::string instruction, value;
};
std::vector<NamedSharding> shardings_of(const ShardSpace& space, const Choice& choice);

// Parameters of less than this share of all parameters' bytes are replicated, unless they are data; products of less than this share
// of all products' operations are left to XLA.
inline constexpr double kSmallParameter = 0.002, kSmallProduct = 0.05;

// `products`: decide about these, too. Throws Error where nothing can be divided by any axis of the mesh.
ShardSpace make_space(const Mesh& mesh, ProgramArguments program, bool products);

}  // namespace hone::sharding
