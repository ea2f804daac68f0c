// Catch2 together with torch, whose logging header also defines CHECK.
#pragma once

#include <torch/types.h>
#undef CHECK
#include <catch2/catch.hpp>
