#!/usr/bin/env bash
# Every benchmark, into build/bench/: programs, kernels, repeatability; last, the time features take, printed. Arguments
# go to bench/tune.py. Takes hours with the default budget; Ctrl-C keeps what was done, and the next call of the same day
# goes on from there. The pages of docs/results are changed by hand from these tables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ " $* " == *" --out"* || " $* " == *" --jsonl"* || " $* " == *" --db"* ]]; then
  echo "run.sh names the files itself; for --out, --jsonl and --db call bench/tune.py" >&2
  exit 2
fi
python=.venv/bin/python
[[ -x $python ]] || python=python3
day=$(date +%F)
# Under a limit of the instruction set all are, and their files are of their own.
isa=()
[[ " $* " =~ \ --max-isa[=\ ]([a-z0-9.]+)\  ]] && isa=(--max-isa "${BASH_REMATCH[1]}")
name=$day${isa[1]:+-${isa[1]}}
raw=build/bench/tune-$name
# Kernels below tell where the gain comes from; a fall-short there (exit 1: none counted) is no reason to stop.
"$python" bench/tune.py --out "$raw.md" --jsonl "$raw.jsonl" "$@"
"$python" bench/kernels.py --db "$raw.db" --jsonl "$raw.jsonl" --out "build/bench/kernels-$name.md" "${isa[@]}" ||
  echo "kernels: no kernel counted" >&2
"$python" bench/repeat.py --out "build/bench/repeat-$name.md" "${isa[@]}" || echo "repeatability: above its target" >&2
cmake --build build --target bench_features >/dev/null && build/bench_features
