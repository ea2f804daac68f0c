// Precompiled once for every source that includes torch: its headers take longer to read than the rest to compile.
#pragma once

#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/types.h>

#include <nlohmann/json.hpp>
