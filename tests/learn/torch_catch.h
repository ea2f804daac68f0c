// Catch2 beside torch, whose logging header defines CHECK too.
#pragma once

#include <torch/types.h>
#undef CHECK
#include <catch2/catch.hpp>
