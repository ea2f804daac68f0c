// Precompiled once for all sources that include torch: parsing its headers takes longer than compiling the rest.
#pragma once

#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/types.h>

#include <nlohmann/json.hpp>
