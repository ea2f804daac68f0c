#include "request/package_use.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "base/stage.h"
#include "report/report.h"

namespace hone::request {

nlohmann::json PackageUse::json() const {
  return {{"as_tuned", fit.as_tuned},
          {"differences", fit.differences},
          {"unmatched", report::decisions_list(unmatched)},
          {"made_with", made.hone.empty() ? nlohmann::json(nullptr) : to_json(made)}};
}

namespace {

// The package's decisions, if they fit the program.
void take_decisions(tune::Session& session, const Decisions& decisions, PackageUse& use) {
  try {
    use.unmatched = session.lower(decisions, /*want_fusion=*/false).unmatched;
    use.decisions = decisions;
  } catch (const Error& failed) {
    const auto* stage = dynamic_cast<const StageError*>(&failed);
    const bool unfit = stage ? stage->stage() == Stage::Passes : dynamic_cast<const RunError*>(&failed) == nullptr;
    if (!unfit) throw;  // a worker that died, a disk that is full
    use.fit.as_tuned = false;
    use.fit.differences.push_back(fmt::format("its decisions do not fit the program ({})", failed.what()));
  }
}

}  // namespace

std::optional<PackageUse> use_package(OpenedProgram& opened) {
  if (!opened.file.package) return std::nullopt;
  const report::LoadedPackage& package = *opened.file.package;
  if (package.fingerprint != opened.session->program().program)
    throw Error("program.pb is not the program that was tuned", opened.file.name, "tune the program again");
  PackageUse use;
  use.made = package.made_with;
  const MadeWith here = opened.session->made_with("");
  use.fit = fit_of(use.made, here, package.decisions);
  compare_threads(opened.session->target().threads, here, use.fit);
  if (use.fit.as_tuned) take_decisions(*opened.session, package.decisions, use);
  const std::string differs = fit_text(use.fit), unmatched = unmatched_text(use.unmatched);
  if (!differs.empty() || !unmatched.empty())
    spdlog::warn("{}: {}{}{}", opened.file.name, differs, differs.empty() || unmatched.empty() ? "" : "; ", unmatched);
  return use;
}

Decisions decisions_of(const std::optional<PackageUse>& use) { return use ? use->decisions : Decisions(); }

}  // namespace hone::request
