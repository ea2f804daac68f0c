#include "features/machine_record.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/isa.h"
#include "base/json_text.h"
#include "base/machine.h"

namespace hone::features {

namespace {

using nlohmann::json;

constexpr char kFile[] = "machine.json";

MachineSpeed speed_here(const std::string& isa, const Cpu& cpu) {
  static std::map<std::string, MachineSpeed> measured;
  const auto known = measured.find(isa);
  if (known != measured.end()) return known->second;
  return measured[isa] = measure_machine_speed(isa, {.l1 = cpu.l1_bytes, .l2 = cpu.l2_bytes, .l3 = cpu.l3_bytes});
}

int64_t number(const json& from, const char* name, int64_t otherwise) {
  if (!from.contains(name)) return otherwise;
  if (!from[name].is_number_integer() || from[name] < 0) throw Error(std::string("no machine: ") + name);
  return from[name];
}

std::string text(const json& from, const char* name) {
  if (!from.contains(name) || !from[name].is_string()) throw Error(std::string("no machine: ") + name);
  return from[name];
}

// Of the name of a class of machines: "AMD avx2 of avx512, one thread".
struct ClassParts {
  std::string vendor, isa, limit, threads;
};

ClassParts parts_of(const std::string& name) {
  const size_t comma = std::min(name.find(','), name.size()), space = std::min(name.find(' '), comma);
  const std::string code = name.substr(std::min(space + 1, comma), comma - std::min(space + 1, comma));
  const size_t of = std::min(code.find(" of "), code.size());
  return {name.substr(0, space), code.substr(0, of), code.substr(of), name.substr(comma)};
}

// Of two instruction sets: 0 for the same one, and more the more their vectors differ.
int distance(const std::string& isa, const std::string& other) {
  if (isa == other) return 0;
  int steps = 1;
  for (int64_t bits = std::min(isa_vector_bits(isa), isa_vector_bits(other));
       bits < std::max(isa_vector_bits(isa), isa_vector_bits(other)); bits *= 2)
    ++steps;
  return steps;
}

int difference(const ClassParts& a, const ClassParts& b) {
  return 8 * distance(a.isa, b.isa) + 4 * (a.limit != b.limit) + 2 * (a.vendor != b.vendor) + (a.threads != b.threads);
}

}  // namespace

MachineRecord this_machine_record(const std::string& host, int threads, const std::string& max_isa) {
  MachineRecord record;
  record.host = host;
  record.cpu = this_machine().cpu;
  record.isa = isa_in_effect(max_isa);
  record.cpu_isa = cpu_isa();
  record.properties = this_cpu(threads, max_isa);
  record.speed = speed_here(record.isa, record.properties);
  return record;
}

json to_json(const MachineRecord& r) {
  return {{"host", r.host},
          {"cpu", r.cpu},
          {"isa", r.isa},
          {"cpu_isa", r.cpu_isa},
          {"vector_bits", r.properties.vector_bits},
          {"l1_bytes", r.properties.l1_bytes},
          {"l2_bytes", r.properties.l2_bytes},
          {"l3_bytes", r.properties.l3_bytes},
          {"threads", r.properties.threads},
          {"speed", hone::to_json(r.speed)}};
}

MachineRecord machine_record_from_json(const json& from, const std::string& what) {
  try {
    if (!from.is_object()) throw Error("no JSON object of a machine");
    MachineRecord record;
    record.host = text(from, "host");
    record.cpu = text(from, "cpu");
    record.isa = text(from, "isa");
    record.cpu_isa = text(from, "cpu_isa");
    Cpu& cpu = record.properties;
    cpu.vector_bits = number(from, "vector_bits", isa_vector_bits(record.isa));
    cpu.library_bits = isa_vector_bits(record.cpu_isa);
    cpu.l1_bytes = number(from, "l1_bytes", 0);
    cpu.l2_bytes = number(from, "l2_bytes", 0);
    cpu.l3_bytes = number(from, "l3_bytes", 0);
    cpu.threads = number(from, "threads", 1);
    if (from.contains("speed")) record.speed = machine_speed_from_json(from["speed"]);
    return record;
  } catch (const Error& e) {
    throw Error(e.what(), what, "hone collect export writes it");
  }
}

std::string machine_class(const std::string& cpu, const std::string& isa, const std::string& cpu_isa, int threads) {
  const std::string vendor = cpu.substr(0, cpu.find_first_of(" (")), limited = isa == cpu_isa ? "" : " of " + cpu_isa;
  return vendor + " " + isa + limited + (threads == 1 ? ", one thread" : ", several threads");
}

std::string machine_class(const MachineRecord& r) {
  return machine_class(r.cpu, r.isa, r.cpu_isa, static_cast<int>(r.properties.threads));
}

std::string this_machine_class(int threads, const std::string& max_isa) {
  return machine_class(this_machine().cpu, isa_in_effect(max_isa), cpu_isa(), threads);
}

std::vector<std::string> similar_classes(const std::string& machine, const std::vector<std::string>& known) {
  const ClassParts wanted = parts_of(machine);
  std::vector<std::pair<int, std::string>> similar;  // by how much they differ
  for (const std::string& one : known) similar.emplace_back(difference(parts_of(one), wanted), one);
  std::stable_sort(similar.begin(), similar.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto& [differs, name] : similar) names.push_back(std::move(name));
  return names;
}

std::optional<std::string> most_similar_class(const std::string& machine, const std::vector<std::string>& known) {
  const std::vector<std::string> similar = similar_classes(machine, known);
  return similar.empty() ? std::nullopt : std::optional(similar.front());
}

void write_machine_file(const std::string& folder, const MachineRecord& record) {
  write_file((std::filesystem::path(folder) / kFile).string(), to_json(record).dump(2) + "\n");
}

std::optional<MachineRecord> read_machine_file(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder) / kFile;
  if (!std::filesystem::exists(path)) return std::nullopt;
  return machine_record_from_json(
      json::parse(shallow_json(read_file(path.string())), nullptr, /*allow_exceptions=*/false), path.string());
}

}  // namespace hone::features
