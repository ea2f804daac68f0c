// The parts of one search of hone tune: the kinds of decisions that take part, the proposals of pass orders and
// layouts, the winners of similar kernels, and a ranking adapted to this machine.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "data/database.h"
#include "request/program.h"
#include "tune/kernel/adaption.h"
#include "tune/kernel/transfer.h"
#include "tune/program/predicted_layouts.h"
#include "tune/program/program_tuner.h"

namespace hone::request {

struct SearchSetupOptions {
  std::string decide = "all", pick = "expectation", layout_model;
  int layouts_measured = 16;
  bool predict_layouts = false;  // propose those that are predicted to be faster; without a model of run times, none
  bool no_transfer = false, no_known = false, no_adaption = false;
  std::string models;  // folder that is searched first for the pass policy; empty = only the shipped one

  // Empty = all. Throws Error for an unknown name.
  std::set<DecisionKind> kinds() const;
  bool layouts_alone() const { return decide == "layout"; }
};

// It must outlive the search; its constructor's arguments must outlive it.
class SearchSetup {
 public:
  // `budget_s` of the search.
  SearchSetup(const SearchSetupOptions& options, OpenedProgram& opened, double budget_s);

  // Sets the search's options as SearchSetupOptions say.
  void equip(tune::TuneOptions& options);
  // Adds the winners of similar kernels from the database, and stores what the search learns. `database_file`: from
  // database_path(); `weights`: a digest of the weights of the options' ranker, which may be null.
  void learn(tune::TuneOptions& options, Database& database, const std::string& database_file,
             const std::string& weights);
  nlohmann::json report() const;  // on transfer and adaption; null if neither took part
  std::string text() const;       // the same in a line, or empty

 private:
  const Database* open_known();
  std::vector<tune::Alternative> passes();
  std::vector<tune::Alternative> layouts(const Decisions& under);
  std::vector<tune::Alternative> predicted_layouts(const Decisions& under);

  const SearchSetupOptions& options_;
  OpenedProgram& opened_;
  double budget_s_;
  std::optional<Database> known_;  // winners on other machines
  std::optional<tune::Transfer> transfer_;
  std::unique_ptr<tune::Adaption> adaption_;
  std::unique_ptr<tune::AdaptedRanker> adapted_;
  tune::VariedModels varied_;    // run times of kernels that other layouts lead to
  int similar_ = 0, asked_ = 0;  // kernels with a winner among similar ones; kernels searched
};

}  // namespace hone::request
