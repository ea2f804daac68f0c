#!/usr/bin/env bash
# The tests of what `make sanitize` has built in $BUILD: those in C++, each file's in a process of its own, since a report ends a program, and
# those of the command line. Ends with `N passed, N failed, N skipped`; every report of AddressSanitizer or ThreadSanitizer counts as one that
# failed, whatever its test said. Exit status 0 only when something passed and nothing failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "${BUILD:-build-sanitize}")
source tests/suites.sh

reports=$build/reports
rm -rf "$reports"
mkdir -p "$reports"
common=log_path=$reports/report:exitcode=99  # no test expects 99, and UndefinedBehaviorSanitizer beside another one has no files
# Tests that preload a library of their own come before the sanitizer's.
export ASAN_OPTIONS=$common:verify_asan_link_order=0:detect_stack_use_after_return=1
export UBSAN_OPTIONS=$common:print_stacktrace=1 TSAN_OPTIONS=$common

mapfile -t files < <(find tests -name '*_test.cc' -not -path 'tests/learn/*' -printf '%f\n' | sed 's/\.cc$//' | sort -u)
for file in "${files[@]}"; do run_catch2 hone_tests -# "[#$file]"; done
for folder in tests/cli tests/fuzz; do run_unittests "$folder" "$folder"; done
run_script "fuzz (short)" "$python" tests/fuzz/fuzz_inputs.py --short --hone "$build/hone"

found=0
for report in "$reports"/*; do
  if [[ -s $report ]]; then
    found=$((found + 1))
    { echo "$report:"; head -n 60 "$report"; } >>"$failures"
  fi
done
failed=$((failed + found))
echo "== reports of sanitizers: $found"
finish
