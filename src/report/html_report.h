// A tuned program's report as one HTML page that needs no network and no other file. The page is the template in
// src/report/page with a JSON model in it; the template's script draws the model.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/record.h"
#include "report/fusion_graph.h"
#include "report/report.h"
#include "report/run_profile.h"

namespace hone::report {

// Predicted run times of kernels beside the measured ones.
struct Prediction {
  std::string kernel, choice;  // name, option
  double predicted_ns = 0, measured_ns = 0;
};

struct ReportInput {
  TuneReport report;  // with its decisions
  std::string file;   // the program's original file name
  std::string hone_version;
  std::map<std::string, std::vector<Record>> rows;  // of the database, by the kernel's fingerprint, oldest first
  std::optional<DrawnGraph> before, after;          // default XLA's kernels and the tuned program's
  std::string no_graphs;                            // why there are none
  std::optional<RunProfile> before_profile, after_profile;  // of both, when both were run
  std::vector<Prediction> predictions;
  std::string predicted_by;  // the model's name
};

// Everything the page shows: the contract between this file and src/report/page.
nlohmann::json page_model(const ReportInput& input);

// The page; titles and model may hold any bytes.
std::string html_page(const nlohmann::json& model);

// Whether the text of a file begins like a page of html_page().
bool is_html_page(const std::string& text);

}  // namespace hone::report
