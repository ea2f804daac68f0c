#!/usr/bin/env bash
# The tests of what `make sanitize` has built: those in C++ and those of the command line. Exit status 0 only when none failed; what a
# sanitizer reports ends the program, and so fails its test.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "${BUILD:-build-sanitize}")
# Tests that preload a library of their own come before the sanitizer's.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
status=0
"$build/hone_tests" --use-colour no || status=1
for folder in tests/cli tests/fuzz; do
  PYTHONPATH="$PWD/python:$build" HONE_BUILD_DIR="$build" .venv/bin/python -m unittest discover -s "$folder" || status=1
done
exit "$status"
