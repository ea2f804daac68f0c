#!/usr/bin/env bash
# Makes FOLDER/hone-*.whl of the build in $BUILD (default build), whose product is built where it is not yet: the wheel of
# pyproject.toml, checked and tagged by auditwheel. Needs scripts/setup.sh --wheel.
#
#   scripts/make_wheel.sh [FOLDER]     default dist
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${BUILD:-build} dist=${1:-dist}
export PATH=$PWD/.venv/bin:$PATH
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
mkdir -p "$dist"

# The same CMake and the same kind of build, so that nothing is compiled again.
cache() { sed -n "s/^$1:.*=//p" "$build/CMakeCache.txt" 2>/dev/null || true; }
type=$(cache CMAKE_BUILD_TYPE) cmake=$(cache CMAKE_COMMAND)
[[ -z $cmake ]] || export CMAKE_EXECUTABLE=$cmake
echo "wheel: installing $build into a wheel" >&2
python -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$raw" \
  --config-settings build-dir="$build" --config-settings cmake.build-type="${type:-Release}" >&2
# XLA's and torch's libraries come with the packages that the wheel depends on.
auditwheel repair --wheel-dir "$dist" --exclude 'libtensorflow_*' --exclude 'libtorch*' --exclude 'libc10*' "$raw"/hone-*.whl >&2
ls -1 "$dist"/hone-*.whl
