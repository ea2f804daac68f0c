// The record of a machine that kernels were measured on: stored beside its measurements and its data sets, so that models know which
// machine a run time is of.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/machine_speed.h"
#include "features/cpu.h"

namespace hone::features {

struct MachineRecord {
  std::string host;          // as rows of the database name it (MeasuredUnder), with a limit of the instruction set
  std::string cpu;           // its model
  std::string isa, cpu_isa;  // in effect, and what the CPU has (base/isa.h)
  Cpu properties;
  MachineSpeed speed;
  bool operator==(const MachineRecord&) const = default;
};

// Of this machine; its speed is measured once in a process for each instruction set.
MachineRecord this_machine_record(const std::string& host, int threads, const std::string& max_isa = "");

nlohmann::json to_json(const MachineRecord& record);
// Throws Error (where = what) for other text. Numbers that are missing are unknown.
MachineRecord machine_record_from_json(const nlohmann::json& json, const std::string& what);

// What machines share corrections and gains: "AMD avx512, one thread", "Intel avx2 of avx512, several threads" where the code that XLA
// generates is limited, but that of libraries is not. `cpu`: its name; `isa`: in effect; `cpu_isa`: what it has.
std::string machine_class(const std::string& cpu, const std::string& isa, const std::string& cpu_isa, int threads);
std::string machine_class(const MachineRecord& record);
std::string this_machine_class(int threads, const std::string& max_isa = "");
// `known`, the class that has most in common with `machine` first: itself, then those whose code is for the same instruction set, of
// these those whose libraries have the same one, of these the vendor's, of these as many threads; then those of other sets, the nearest
// first (docs/decisions/0080-what-other-machines-know.md).
std::vector<std::string> similar_classes(const std::string& machine, const std::vector<std::string>& known);
// The first of them; nothing of none.
std::optional<std::string> most_similar_class(const std::string& machine, const std::vector<std::string>& known);

// machine.json of a data set's folder. Reading: nullopt if there is none; throws the errors of machine_record_from_json().
void write_machine_file(const std::string& folder, const MachineRecord& record);
std::optional<MachineRecord> read_machine_file(const std::string& folder);

}  // namespace hone::features
