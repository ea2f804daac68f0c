// report.json, written again as JSON, as text and as a page.
#include "report/report.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/html_report.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void report(Bytes input) {
  const nlohmann::json object = nlohmann::json::parse(shallow_json(text_of(input)), nullptr, false);
  if (object.is_discarded()) return;
  expect_errors([&] {
    report::ReportInput page;
    page.report = report::report_from_json(object, "file");
    report::full_json(page.report).dump();
    report::report_text(page.report);
    page.file = page.report.program;
    report::html_page(report::page_model(page));
  });
}

}  // namespace hone::fuzz
