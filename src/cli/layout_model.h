// hone train layout and hone eval layout, which run in libhone_learn.so.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/cli.h"

namespace hone::cli {

// Add the subcommand `layout`; sets `chosen` to its function when it is given on the command line.
void declare_train_layout(CLI::App& app, const std::shared_ptr<Runner>& chosen);
void declare_eval_layout(CLI::App& app, const std::shared_ptr<Runner>& chosen);

}  // namespace hone::cli
