#!/usr/bin/env bash
# Runs every test of the project and ends with one line: `N passed, N failed[, N skipped]`, a sum over test cases.
# Needs a finished build in $BUILD (default build). Exit status 0 only when something passed and nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "${BUILD:-build}")
source tests/suites.sh

run_script "layers (check_layers.py)" "$python" scripts/check_layers.py
run_script "sizes (check_size.py)" "$python" scripts/check_size.py
run_unittests "layers (unit tests)" tests/layers
run_unittests "fuzz (unit tests)" tests/fuzz
begin_unittests tests/cli  # as long as the other three
run_catch2 hone_tests
run_catch2 hone_learn_tests
run_unittests "Python" tests/python
finish_unittests "command line"
for script in tests/cli/*.sh; do
  if [[ -e $script ]]; then run_script "command line ($(basename "$script"))" bash "$script"; fi
done
run_script "fuzz (short)" "$python" tests/fuzz/fuzz_inputs.py --short --hone "$build/hone"

finish
