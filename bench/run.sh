#!/usr/bin/env bash
# Every benchmark, into build/bench/: programs, kernels, repeatability; last, the time features take, printed. Arguments
# are passed to bench/tune.py. Takes hours with the default budget; Ctrl-C keeps finished parts, and the next call of
# the same day continues. The pages of docs/results are updated by hand from these tables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ " $* " == *" --out"* || " $* " == *" --jsonl"* || " $* " == *" --db"* ]]; then
  echo "run.sh names the files itself; for --out, --jsonl and --db call bench/tune.py" >&2
  exit 2
fi
python=.venv/bin/python
[[ -x $python ]] || python=python3
day=$(date +%F)
# A limit of the instruction set holds for all of them, which then write files of their own.
isa=()
[[ " $* " =~ \ --max-isa[=\ ]([a-z0-9.]+)\  ]] && isa=(--max-isa "${BASH_REMATCH[1]}")
name=$day${isa[1]:+-${isa[1]}}
raw=build/bench/tune-$name
# The kernels show where the gain comes from; exit code 1 there (no kernel counted) is no reason to stop.
"$python" bench/tune.py --out "$raw.md" --jsonl "$raw.jsonl" "$@"
"$python" bench/kernels.py --db "$raw.db" --jsonl "$raw.jsonl" --out "build/bench/kernels-$name.md" "${isa[@]}" ||
  echo "kernels: no kernel counted" >&2
"$python" bench/repeat.py --out "build/bench/repeat-$name.md" "${isa[@]}" || echo "repeatability: above its target" >&2
cmake --build build --target bench_features >/dev/null && build/bench_features
