#include "report/program_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <tuple>

#include "base/error.h"
#include "base/files.h"

namespace hone::report {

namespace fs = std::filesystem;

namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string without_gz(const std::string& name) {
  return ends_with(name, ".gz") ? name.substr(0, name.size() - 3) : name;
}

ProgramFile read_dump_folder(const std::string& path) {
  std::vector<DumpFile> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file())
      files.push_back(
          {entry.path().filename().string(), entry.file_size(), entry.last_write_time().time_since_epoch().count()});
  const std::string name = pick_dump_file(files);
  if (name.empty())
    throw Error("the folder holds no program", path,
                "XLA writes *.before_optimizations.hlo.pb or .txt into a dump folder");
  return {read_file((fs::path(path) / name).string()), program_name(name), name, std::nullopt};
}

}  // namespace

std::string pick_dump_file(const std::vector<DumpFile>& files) {
  std::tuple<bool, bool, uint64_t, int64_t, std::string> best;
  bool found = false;
  for (const DumpFile& file : files) {
    const std::string name = without_gz(file.name);
    const bool binary = ends_with(name, ".hlo.pb") || ends_with(name, ".hlo_snapshot.pb");
    const bool before = name.find(".before_optimizations.") != std::string::npos;
    const bool text = ends_with(name, ".hlo") || (ends_with(name, ".txt") && name.find("_optimizations") != name.npos);
    if (!binary && !text) continue;
    // Before optimizations the largest module, since dumps contain dozens of tiny ones; otherwise the newest.
    const auto rank = std::make_tuple(before, binary, before ? file.bytes : 0, file.modified, file.name);
    if (!found || rank > best) best = rank;
    found = true;
  }
  return found ? std::get<4>(best) : "";
}

std::string program_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  if (name.empty()) name = fs::path(path).parent_path().filename().string();
  static const std::string kEndings[] = {".gz",   ".pb",        ".pbtxt", ".txt",          ".hlo",
                                         ".mlir", ".mlirbc",    ".bc",    ".jax",          ".jax_export",
                                         ".vhlo", ".stablehlo", ".hone",  ".hlo_snapshot", ".before_optimizations"};
  const auto has_ending = [&](const std::string& end) { return name.size() > end.size() && ends_with(name, end); };
  for (const std::string* end = std::begin(kEndings); end != std::end(kEndings);) {
    if (!has_ending(*end)) {
      ++end;
      continue;
    }
    name.resize(name.size() - end->size());
    end = std::begin(kEndings);
  }
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_') c = '_';
  return name.empty() || name == "-" || name[0] == '.' ? "program" : name;
}

ProgramFile read_program(const std::string& path) {
  if (path == "-") return {read_file(path), "program", "-", std::nullopt};
  std::error_code ignored;
  if (is_package(path)) {
    LoadedPackage package = read_package(path);
    return {package.program_bytes, package.name, package.file, package};
  }
  if (fs::is_directory(path, ignored)) return read_dump_folder(path);
  return {read_file(path), program_name(path), fs::path(path).filename().string(), std::nullopt};
}

}  // namespace hone::report
