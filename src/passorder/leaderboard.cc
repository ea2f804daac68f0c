#include "passorder/leaderboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/sha256.h"

namespace hone::passorder {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kBenchmarkFormat[] = "hone-benchmark-1", kResultFormat[] = "hone-gym-result-1";

// Calls `read` with the object in the file. Throws Error for other formats, missing members and wrong types.
template <class Read>
auto read_object(const std::string& path, const std::string& format, const std::string& hint, Read&& read) {
  try {
    const json object = json::parse(shallow_json(read_file(path)));
    if (!object.is_object() || object.value("format", "") != format)
      throw Error("is not of format " + format, path, hint);
    return read(object);
  } catch (const json::exception& e) {
    throw Error(std::string("is not of format ") + format + ": " + e.what(), path, hint);
  }
}

// Conversion would cut numbers with a fraction and take true for 1.
int64_t whole_number(const json& object, const char* name, const std::string& path) {
  const json& value = object.at(name);
  if (!value.is_number_integer())
    throw Error("the value " + value.dump() + " is no whole number", path, std::string("mend '") + name + "'");
  return value.get<int64_t>();
}

// The number of instructions after the passes; a pass that fails leaves the program as it is.
int64_t instructions_after(const BenchmarkProgram& program, const std::vector<std::string>& passes,
                           PassSession& session) {
  const std::string key = session.load_file(program.file);
  PassStatePtr state = session.initial(key);
  if (state->instructions != program.instructions)
    throw Error(fmt::format("{} has {} instructions, not {} as the set says", program.name, state->instructions,
                            program.instructions),
                program.file, "mend the set");
  PassHistory history;
  for (const std::string& pass : passes) {
    const PassStep step = session.step(key, state, history, pass);
    state = step.state;
    if (step.changed) history.push_back(pass);
  }
  return state->instructions;
}

// What is wrong with a claim; empty = it holds.
std::string fault_of(const OrderClaim& claim, const BenchmarkProgram& program, const BenchmarkSet& set,
                     PassSession& session) {
  const std::vector<std::string> known = session.default_passes();
  if (static_cast<int64_t>(claim.passes.size()) > set.max_passes)
    return fmt::format("{} passes, at most {} are allowed", claim.passes.size(), set.max_passes);
  for (const std::string& pass : claim.passes)
    if (std::find(known.begin(), known.end(), pass) == known.end())
      return "'" + pass + "' is not in the default action set";
  const int64_t left = instructions_after(program, claim.passes, session);
  return left == claim.instructions ? "" : fmt::format("{} instructions are left, not {}", left, claim.instructions);
}

}  // namespace

BenchmarkSet read_benchmark(const std::string& path, const std::string& root) {
  return read_object(path, kBenchmarkFormat, "data/benchmarks has the sets", [&](const json& object) {
    BenchmarkSet set{object.at("name"), whole_number(object, "max_passes", path), {}};
    const std::string own = object.value("root", "");
    if (root.empty() && own.empty())
      throw Error("the programs of " + set.name + " do not come with hone", path, "name their folder with --programs");
    const fs::path folder = own.empty() ? fs::path(root) : fs::path(path).parent_path() / own;
    for (const json& row : object.at("programs"))
      set.programs.push_back({row.at("name"), (folder / row.at("file").get<std::string>()).lexically_normal().string(),
                              row.at("sha256"), whole_number(row, "instructions", path)});
    if (set.programs.empty() || set.max_passes < 1) throw Error("the set is empty", path);
    return set;
  });
}

void check_benchmark_program(const BenchmarkProgram& program) {
  std::ifstream file(program.file, std::ios::binary);
  if (!file) throw Error("a program of the set is missing", program.file, "name the folder of the programs");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (Sha256().add(bytes).hex() != program.sha256)
    throw Error("a program of the set has other bytes than its version", program.file, "restore the file");
}

GymResult read_gym_result(const std::string& path) {
  const char* hint = "docs/reference/gym.md describes result files";
  return read_object(path, kResultFormat, hint, [&](const json& object) {
    GymResult result{path, object.at("agent"), object.at("benchmark"), {}};
    for (const json& entry : object.at("entries"))
      result.claims.push_back({entry.at("program"), entry.at("passes"), whole_number(entry, "instructions", path)});
    return result;
  });
}

Standing replay(const GymResult& result, const BenchmarkSet& set, PassSession& session) {
  if (result.benchmark != set.name) throw Error("the result is of the set " + result.benchmark, result.file);
  std::map<std::string, const BenchmarkProgram*> programs;
  for (const BenchmarkProgram& program : set.programs) {
    check_benchmark_program(program);
    programs[program.name] = &program;
  }
  Standing standing{result.file, result.agent, result.benchmark, static_cast<int64_t>(set.programs.size())};
  std::set<std::string> seen;
  double logarithms = 0, shares = 0;
  for (const OrderClaim& claim : result.claims) {
    const auto program = programs.find(claim.program);
    std::string fault;
    if (program == programs.end())
      fault = "the set has no such program";
    else if (!seen.insert(claim.program).second)
      fault = "is named twice";
    else
      fault = fault_of(claim, *program->second, set, session);
    if (!fault.empty()) {
      standing.problems.push_back(claim.program + ": " + fault);
      continue;
    }
    ++standing.right;
    const auto before = static_cast<double>(std::max<int64_t>(1, program->second->instructions));
    const auto after = static_cast<double>(std::max<int64_t>(1, claim.instructions));
    logarithms += std::log(before / after);
    shares += 1 - after / before;
  }
  for (const auto& [name, program] : programs)
    if (!seen.contains(name)) standing.problems.push_back(name + ": the result has no entry for it");
  const auto count = static_cast<double>(set.programs.size());
  standing.reduction = std::exp(logarithms / count);
  standing.removed = shares / count;
  return standing;
}

}  // namespace hone::passorder
