// hone tune as one call: confirms a known result, or sets up a search with models, database and workers and runs it;
// then writes the winner as a package and stores it in the database.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cost/operation_ranker.h"
#include "report/report.h"
#include "request/program.h"
#include "request/search_setup.h"

namespace hone::request {

struct TuneRequest {
  ProgramOptions program;
  std::string database;  // see database_path()
  std::string output;    // the package; empty = NAME.hone
  double budget_s = 60;  // of the search
  std::string strategy;  // for the decisions of the whole program; empty = the default of tune::TuneOptions
  std::string models;    // folder that is searched first for weights; empty = only the shipped ones
  // Ranks the options of kernels: "shipped", "none", "analytical", or a file or folder of weights.
  std::string tile_model = "shipped";
  int top_k = 0;                            // options of a kernel that are measured; 0 = all promising ones
  std::string operation_model = "shipped";  // ranks the forms of operations: "shipped", "none" or a file
  std::string fusion_model = "shipped";     // predicts run times of fusion configurations, named as above
  double fusion_budget_s = 0;               // of its search; 0 = a share of what is left
  int fusion_chains = 4, fusion_workers = 1;
  bool random_fusion_start = false;
  SearchSetupOptions setup;
  bool force = false;             // replace an output that is not a package
  bool fresh = false;             // take nothing from the database
  bool no_fusion = false;         // leave XLA's fusion as it is
  bool no_prepare = false;        // compile nothing on CPUs that measure nothing
  bool no_operations = false;     // rewrite no operation that is measured by itself
  bool no_packing = false;        // have weights packed on every run, as default XLA does
  bool no_in_place = false;       // time kernels by themselves only
  bool fusion_only = false;       // decide nothing else
  bool exhaustive = false;        // measure every option of every kernel, and decide nothing else
  std::set<std::string> kernels;  // fingerprints, for tune_kernels()

  // Whether the search is a reference for others: it neither reads results from the database nor stores any.
  bool reference() const { return exhaustive || fusion_only || setup.layouts_alone(); }
  bool learns() const { return !reference() && !fresh; }  // uses and stores knowledge about other programs' kernels
};

struct TuneAnswer {
  report::TuneReport report;                       // as written to the package
  std::optional<tune::FusionSearchReport> fusion;  // if a model searched fusion
  nlohmann::json learned;    // on transfer from similar kernels and adaption of the ranking; null without either
  std::string learned_text;  // the same as text
};

// Arguments: what is being tried, the gain over default XLA so far, and the number of candidates measured.
using TuneProgress = std::function<void(const std::string& what, double gain, int64_t candidates)>;

// One tuning request.
class Tuning {
 public:
  // Checks options, models and the name of the output before the work begins. Throws Error.
  explicit Tuning(TuneRequest request);
  ~Tuning();

  const std::string& package_path() const { return path_; }
  // Tunes and writes the package. Throws whatever open_program() and tune::tune_program() throw.
  TuneAnswer run(const TuneProgress& on_progress);
  // Instead tunes the request's kernels as default XLA makes them; stores their measurements and winners in the
  // database. Returns the result for each: {"kernels": [{fingerprint, known, complete, tried, gain, chosen}], "host",
  // "xla_version"}.
  nlohmann::json tune_kernels();

 private:
  struct Work;  // the state that exists once the program is open
  void open();
  tune::ProgramResult search(const TuneProgress& on_progress, tune::Measurer& bench);
  tune::ProgramResult search_layouts(const TuneProgress& on_progress, tune::Measurer& bench);
  void judge_precision(report::TuneReport& report);

  TuneRequest request_;
  std::string path_;
  std::chrono::steady_clock::time_point start_;
  std::unique_ptr<cost::KernelRanker> ranker_;
  std::unique_ptr<cost::OperationRanker> operation_ranker_;
  std::unique_ptr<tune::FusionModel> fusion_model_;
  tune::TuneOptions options_;
  std::unique_ptr<Work> work_;
};

}  // namespace hone::request
