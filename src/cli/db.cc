#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"

namespace hone::cli {

namespace {

struct DbOptions {
  std::shared_ptr<std::string> db;
  std::shared_ptr<OutputOptions> output;
  std::string file;            // export: the output; merge: the source
  std::set<std::string> only;  // merge: programs and kernels
  int64_t keep = 0;            // compact: rows of each candidate; 0 = all
};

int db_info(const DbOptions& options) {
  const DatabaseInfo i = open_existing_database(*options.db).info();
  if (options.output->json) {
    print({{"path", i.path},
           {"schema_version", i.schema_version},
           {"bytes", i.file_bytes},
           {"records", i.records},
           {"kernel_records", i.kernel_records},
           {"program_records", i.program_records},
           {"verified", i.verified},
           {"programs", i.programs},
           {"kernels", i.kernels},
           {"tuned", i.tuned},
           {"by_status", i.by_status},
           {"by_host", i.by_host},
           {"oldest", i.oldest},
           {"newest", i.newest}});
    return 0;
  }
  fmt::print("{}  ({}, schema {})\n", i.path, human_bytes(i.file_bytes), i.schema_version);
  fmt::print("  {} candidates: {} of {} kernels, {} of {} programs; {} verified\n", i.records, i.kernel_records,
             i.kernels, i.program_records, i.programs, i.verified);
  fmt::print("  {} final results\n", i.tuned);
  for (const auto& [status, count] : i.by_status) fmt::print("  {:<16} {:>8}\n", status, count);
  for (const auto& [host, count] : i.by_host) fmt::print("  {:>8} on {}\n", count, host);
  if (!i.oldest.empty()) fmt::print("  from {} to {}\n", i.oldest, i.newest);
  return 0;
}

int export_rows(const DbOptions& options) {
  const Database database = open_existing_database(*options.db);
  if (options.file.empty()) {
    database.export_jsonl(std::cout);
    std::cout.flush();
    return std::cout ? 0 : 1;
  }
  std::ofstream out(options.file, std::ios::binary);
  database.export_jsonl(out);
  out.close();
  if (!out) throw RunError("cannot write", options.file);
  if (options.output->json) print({{"output", options.file}});
  return 0;
}

int merge_db(const DbOptions& options) {
  const MergeReport r = open_database(*options.db).merge(options.file, options.only);
  if (options.output->json)
    print({{"records_added", r.records_added},
           {"records_known", r.records_known},
           {"tuned_added", r.tuned_added},
           {"tuned_known", r.tuned_known},
           {"kernels_added", r.kernels_added},
           {"refused", r.refused}});
  else
    fmt::print("{} candidates added, {} known; {} results added, {} known; {} rows refused\n", r.records_added,
               r.records_known, r.tuned_added, r.tuned_known, r.refused);
  return 0;
}

int check_db(const DbOptions& options) {
  const std::vector<std::string> problems = open_existing_database(*options.db).check();
  if (options.output->json) {
    print({{"ok", problems.empty()}, {"problems", problems}});
  } else {
    for (const std::string& problem : problems) fmt::print("{}\n", problem);
    if (problems.empty()) fmt::print("sound\n");
  }
  return problems.empty() ? 0 : 1;
}

int compact_db(const DbOptions& options) {
  const CompactReport r = open_existing_database(*options.db, /*writable=*/true).compact(options.keep);
  if (options.output->json)
    print({{"records_removed", r.records_removed}, {"bytes_before", r.bytes_before}, {"bytes_after", r.bytes_after}});
  else
    fmt::print("{} candidates removed; {} before, {} now\n", r.records_removed, human_bytes(r.bytes_before),
               human_bytes(r.bytes_after));
  return 0;
}

struct Action {
  const char* name;
  const char* summary;
  int (*run)(const DbOptions&);
  const char* file_option;  // name, or null when the action takes no file
  bool file_required;
  const char* file_help;
};
constexpr Action kActions[] = {
    {"info", "count the rows of each kind", db_info, nullptr, false, nullptr},
    {"export", "write every row as a JSON object on its own line", export_rows, "-o,--output", false,
     "file to write (default: standard output)"},
    {"merge", "copy the rows of another database into this one", merge_db, "FILE", true,
     "the other database: a file or a URL"},
    {"compact", "give the room of removed rows back, and remove older rows of the same candidates", compact_db, nullptr,
     false, nullptr},
    {"check", "look for damage; exit code 1 if there is any", check_db, nullptr, false, nullptr},
};

}  // namespace

Runner declare_db(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  for (const Action& action : kActions) {
    CLI::App* sub = app.add_subcommand(action.name, action.summary);
    const auto options = std::make_shared<DbOptions>();
    options->db = add_database_option(*sub);
    if (action.file_option)
      sub->add_option(action.file_option, options->file, action.file_help)
          ->required(action.file_required)
          ->type_name(action.file_required ? "" : "FILE");
    if (action.run == merge_db)
      sub->add_option("--only", options->only, "fingerprints of programs and kernels: copy only rows about these")
          ->delimiter(',')
          ->type_name("LIST");
    if (action.run == compact_db)
      sub->add_option("--keep", options->keep,
                      "newest rows of each candidate that stay, under equal conditions: older ones are removed "
                      "(default: all stay)")
          ->check(within(1, 1000000))
          ->type_name("N");
    options->output = add_output_options(*sub);
    sub->final_callback([chosen, options, run = action.run] { *chosen = [options, run] { return run(*options); }; });
  }
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
