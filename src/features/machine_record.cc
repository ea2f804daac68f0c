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

std::optional<std::string> most_similar_class(const std::string& machine, const std::vector<std::string>& known) {
  const ClassParts wanted = parts_of(machine);
  std::optional<std::string> best;
  int least = 0;
  for (const std::string& one : known) {
    const ClassParts parts = parts_of(one);
    if (parts.isa != wanted.isa) continue;
    const int differs =
        4 * (parts.vendor != wanted.vendor) + 2 * (parts.threads != wanted.threads) + (parts.limit != wanted.limit);
    if (best && differs >= least) continue;
    best = one;
    least = differs;
  }
  return best;
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
