#include "report/package.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"

namespace hone::report {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kFormat = 1;

json decisions_json(const Package& package) {
  const TuneReport& r = package.report;
  return {{"format", kFormat},
          {"program", r.program},
          {"file", package.file},
          {"fingerprint", r.fingerprint},
          {"tuned_fingerprint", r.tuned_fingerprint},
          {"xla_version", r.xla_version},
          {"host", r.host},
          {"made_with", hone::to_json(r.made_with)},
          {"target", to_json(r.target)},
          {"decisions", decisions_list(r.decisions)},
          {"default_ns", r.default_ns},
          {"tuned_ns", r.tuned_ns},
          {"speedup", r.speedup},
          {"speedup_interval", {r.speedup_low, r.speedup_high}},
          {"rounds", r.rounds},
          {"verified", r.verified}};
}

// Renames `from` over `to`, which may be a folder; the old one is moved aside first and removed last.
void replace(const fs::path& from, const fs::path& to) {
  const fs::path aside = from.string() + ".old";
  const bool existed = fs::exists(to);
  if (existed) fs::rename(to, aside);
  try {
    fs::rename(from, to);
  } catch (const fs::filesystem_error&) {
    if (existed) fs::rename(aside, to);
    throw;
  }
  if (existed) fs::remove_all(aside);
}

// Removes an unfinished folder unless it was moved away.
struct Unfinished {
  fs::path path;
  ~Unfinished() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

// A typed field of decisions.json.
template <class T>
T field(const json& object, const char* name, const std::string& where) {
  try {
    return object.at(name).get<T>();
  } catch (const json::exception&) {
    throw Error(fmt::format("the field '{}' is missing or of another type", name), where);
  }
}

std::string package_file(const fs::path& folder, const char* name) {
  if (!fs::exists(folder / name))
    throw Error(fmt::format("the package has no {}", name), folder.string(), "tune the program again");
  return read_file((folder / name).string());
}

}  // namespace

bool is_package(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(fs::path(path) / "decisions.json", ignored);
}

std::string package_path(const std::string& output, const std::string& program_name) {
  std::string path = output.empty() ? program_name + ".hone" : output;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

void check_replaceable(const std::string& path, bool force) {
  std::error_code ignored;
  fs::path folder = fs::absolute(path).parent_path();  // or what exists of it
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw RunError("the output's folder cannot be written", folder.string(), "name another with -o");
  if (!fs::exists(path, ignored) || is_package(path)) return;
  if (!force) throw Error("the output exists and is no package of ours", path, "name another with -o, or use --force");
  if (!fs::is_directory(path, ignored)) return;
  // --force is for leftovers, not for other folders given by mistake.
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_directory()) throw Error("the output is a folder with folders in it", path, "remove it yourself");
}

void write_package(const std::string& path, const Package& package, bool force) {
  check_replaceable(path, force);
  try {
    const fs::path target = fs::absolute(path);
    fs::create_directories(target.parent_path());
    const Unfinished folder{target.parent_path() / fmt::format(".{}.{}", target.filename().string(), getpid())};
    fs::create_directory(folder.path);
    const auto put = [&](const char* name, const std::string& text) {
      write_file((folder.path / name).string(), text);
    };
    put("program.pb", package.program_bytes);
    put("tuned.hlo", package.tuned_hlo);
    put("report.json", full_json(package.report).dump(1) + "\n");
    put("report.txt", report_text(package.report));
    put("decisions.json", decisions_json(package).dump(1) + "\n");
    replace(folder.path, target);
  } catch (const fs::filesystem_error& e) {
    throw RunError(fmt::format("cannot write the package: {}", e.code().message()), path);
  }
}

LoadedPackage read_package(const std::string& path) {
  const fs::path folder(path);
  if (!is_package(path)) throw Error("not a package: it has no decisions.json", path);
  const std::string where = (folder / "decisions.json").string();
  const json object =
      json::parse(shallow_json(package_file(folder, "decisions.json")), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) throw Error("not JSON", where, "tune the program again");
  const int format = field<int>(object, "format", where);
  if (format != kFormat)
    throw Error(fmt::format("format {} of packages is unknown", format), where, "use a newer hone");

  LoadedPackage loaded;
  loaded.program_bytes = package_file(folder, "program.pb");
  loaded.name = field<std::string>(object, "program", where);
  loaded.file = field<std::string>(object, "file", where);
  loaded.fingerprint = field<std::string>(object, "fingerprint", where);
  loaded.tuned_fingerprint = field<std::string>(object, "tuned_fingerprint", where);
  loaded.xla_version = field<std::string>(object, "xla_version", where);
  loaded.host = field<std::string>(object, "host", where);
  loaded.made_with = made_with_from_json(object);
  loaded.speedup = field<double>(object, "speedup", where);
  const json target = field<json>(object, "target", where);
  loaded.target.threads = field<int>(target, "threads", where);
  loaded.target.seed = field<uint64_t>(target, "seed", where);
  loaded.target.weights = field<std::vector<int>>(target, "weights", where);
  loaded.target.allow_fast_math = field<bool>(target, "allow_fast_math", where);
  if (target.contains("max_isa")) loaded.target.max_isa = field<std::string>(target, "max_isa", where);
  if (target.contains("precision")) loaded.target.precision = field<std::string>(target, "precision", where);
  loaded.decisions = decisions_from_list(field<json>(object, "decisions", where), where);
  return loaded;
}

}  // namespace hone::report
