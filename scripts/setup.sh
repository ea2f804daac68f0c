#!/usr/bin/env bash
# Makes a Debian 12 machine ready to build Hone: apt packages that are missing, and the virtual environment .venv with
# the pinned wheels. Does nothing, fast, when everything is in place.
#
#   scripts/setup.sh              what building the product needs
#   scripts/setup.sh --train      also torch (libhone_learn.so: hone train, hone gym train, hone go train)
#   scripts/setup.sh --examples   also JAX and Keras (example export, JAX tests)
#   scripts/setup.sh --models     as --examples, and the model libraries (corpus export)
#   scripts/setup.sh --test       also the Debian packages that only tests need, if they are available
#   scripts/setup.sh --gym        as --train, and Gymnasium and Stable-Baselines3 (environments in Python)
#   scripts/setup.sh --fleet      also Ray (hone tune --engine ray)
#   scripts/setup.sh --torch      as --train, and torch-mlir (PyTorch models)
#   scripts/setup.sh --onnx       as --examples, and what reads ONNX models
#   scripts/setup.sh --tensorflow as --examples, and what `import tensorflow` needs
#   scripts/setup.sh --bench      as --gym, and matplotlib (figures of bench/pass_order)
#   scripts/setup.sh --wheel      also what makes the wheel (make wheel)
#   scripts/setup.sh --dev        also the formatters and linters
#   scripts/setup.sh --fuzz       also clang with libFuzzer (make fuzz)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "setup: $*" >&2; }

# Installed version of each given package, one "name version" per line; absent packages print nothing.
installed_versions() {
  dpkg-query -W -f='${db:Status-Status} ${Package} ${Version}\n' "$@" 2>/dev/null | sed -n 's/^installed //p'
}

can_install() { apt-get install -s -qq --no-install-recommends "$@" >/dev/null 2>&1; }

# install_apt_packages LIST: those of the list that are missing.
install_apt_packages() {
  local -A wanted=() present=()
  local -a missing=() request=()
  local name version i
  while read -r name version; do wanted[$name]=$version; done < <(grep -v '^#' "$1")
  while read -r name version; do present[$name]=$version; done < <(installed_versions "${!wanted[@]}")
  for name in "${!wanted[@]}"; do
    [[ -n ${present[$name]:-} ]] || missing+=("$name")
  done
  if ((${#missing[@]})); then
    local -a as_root=()
    if ((EUID != 0)); then
      command -v sudo >/dev/null || { say "missing packages: ${missing[*]}; run as root or install sudo"; exit 1; }
      as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq || return 1
    for name in "${missing[@]}"; do
      version=${wanted[$name]}
      if apt-cache madison "$name" | grep -F " $version |" >/dev/null; then name+="=$version"; fi
      request+=("$name")
    done
    # A version may still be listed while what it depends on has moved on: such pins are dropped, in the end all.
    if ! can_install "${request[@]}"; then
      for i in "${!request[@]}"; do can_install "${request[i]}" || request[i]=${request[i]%%=*}; done
      can_install "${request[@]}" || request=("${missing[@]}")
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${request[@]}" >&2 || return 1
    while read -r name version; do present[$name]=$version; done < <(installed_versions "${!wanted[@]}")
  fi
  for name in "${!wanted[@]}"; do
    [[ ${present[$name]:-absent} == "${wanted[$name]}" ]] || say "warning: $name is ${present[$name]:-absent}, tested with ${wanted[$name]}"
  done
}

# Installs a complete list of pinned wheels, unless that very list was installed before. Python compiles what is imported.
install_wheels() {
  local list=$1 stamp=.venv/.installed-$1
  cmp -s "$list" "$stamp" && return
  say "installing $list into .venv"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile -r "$list" >&2
  cp "$list" "$stamp"
}

# Wheels hold no links: oneDNN's library is there three times. Copies become one file, which saves 110 MB.
merge_copies() {
  local library=.venv/lib/libdnnl.so copy
  for copy in $library.3 $library.3.2; do
    if [[ ! $copy -ef $library ]] && cmp -s $library "$copy"; then ln -f $library "$copy"; fi
  done
}

lists=(requirements.txt) test_packages=false fuzz_packages=false
for option in "$@"; do
  case $option in
    --examples) lists+=(requirements-examples.txt) ;;
    --models) lists+=(requirements-examples.txt requirements-models.txt) ;;
    --test) test_packages=true ;;
    --train) lists+=(requirements-train.txt) ;;
    --wheel) lists+=(requirements-wheel.txt) ;;
    --gym) lists+=(requirements-train.txt requirements-gym.txt) ;;
    --fleet) lists+=(requirements-fleet.txt) ;;
    --torch) lists+=(requirements-train.txt requirements-torch.txt) ;;
    --onnx) lists+=(requirements-examples.txt requirements-onnx.txt) ;;
    --tensorflow) lists+=(requirements-examples.txt requirements-tensorflow.txt) ;;
    --bench) lists+=(requirements-train.txt requirements-gym.txt requirements-bench.txt) ;;
    --dev) lists+=(requirements-dev.txt) ;;
    --fuzz) fuzz_packages=true ;;
    *) say "unknown option $option"; exit 2 ;;
  esac
done

install_apt_packages scripts/apt-packages.txt
if $test_packages && ! (install_apt_packages scripts/apt-packages-test.txt); then
  say "warning: packages of scripts/apt-packages-test.txt could not be installed: tests that need them are skipped"
fi
if $fuzz_packages; then install_apt_packages scripts/apt-packages-fuzz.txt; fi
if [[ ! -x .venv/bin/python ]]; then
  say "making .venv"
  /usr/bin/python3 -m venv .venv
fi
.venv/bin/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
  { say ".venv is not Python 3.11: remove it and run again"; exit 1; }
for list in "${lists[@]}"; do install_wheels "$list"; done
merge_copies
