#include "request/doctor.h"

#include <fmt/core.h>

#include "cli/cli.h"
#include "cli/version.h"

namespace hone::cli {

namespace {

using nlohmann::json;

// Null if unknown.
json known(const std::string& text) { return text.empty() ? json() : json(text); }
json known(int64_t bytes) { return bytes > 0 ? json(bytes) : json(); }

json to_json(const request::Diagnosis& d, const std::string& version) {
  json checks = json::array(), ratio, interval;
  for (const request::Check& check : d.checks)
    checks.push_back({{"name", check.name},
                      {"status", request::check_status_name(check.status)},
                      {"detail", check.detail},
                      {"hint", check.hint}});
  if (d.duel && d.duel->ok()) {
    ratio = d.duel->ratio;
    interval = {d.duel->ratio_low, d.duel->ratio_high};
  }
  return {{"ok", !d.failed()},
          {"hone_version", version},
          {"xla_version", known(d.xla_version)},
          {"cpu", d.machine.cpu},
          {"isa", d.record.isa},
          {"machine_class", features::machine_class(d.record)},
          {"speed", to_json(d.record.speed)},
          {"vector_bits", d.record.properties.vector_bits},
          {"l1_bytes", known(d.record.properties.l1_bytes)},
          {"l2_bytes", known(d.record.properties.l2_bytes)},
          {"l3_bytes", known(d.record.properties.l3_bytes)},
          {"physical_cores", d.machine.physical_cores},
          {"logical_cores", d.machine.logical_cores},
          {"usable_cores", d.machine.usable_cores},
          {"memory_bytes", known(d.machine.memory_bytes)},
          {"available_bytes", known(d.machine.available_bytes)},
          {"ratio", ratio},
          {"ratio_interval", interval},
          {"checks", checks}};
}

void print_checks(const request::Diagnosis& d, const std::string& version) {
  int warnings = 0;
  fmt::print("hone {}\n", version);
  for (const request::Check& check : d.checks) {
    warnings += check.status == request::CheckStatus::Warning;
    fmt::print("  {:<8} {:<17} {}\n", request::check_status_name(check.status), check.name, check.detail);
    if (!check.hint.empty()) fmt::print("  {:<8} {:<17} -> {}\n", "", "", check.hint);
  }
  fmt::print("{}{}\n", d.failed() ? "some checks failed" : "hone works on this machine",
             warnings > 0 ? fmt::format("; warnings: {}", warnings) : "");
}

}  // namespace

Runner declare_doctor(CLI::App& app) {
  const auto wanted = std::make_shared<request::DoctorRequest>();
  const auto database = add_database_option(app);
  add_models_option(app, wanted->models);
  const auto output = add_output_options(app);
  return [wanted, database, output] {
    const std::string version = this_version().hone;
    wanted->database = *database;
    const request::Diagnosis diagnosis = request::diagnose(*wanted);
    if (output->json)
      print(to_json(diagnosis, version));
    else
      print_checks(diagnosis, version);
    return diagnosis.failed() ? 1 : 0;
  };
}

}  // namespace hone::cli
