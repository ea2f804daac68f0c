# Sourced by tests/run.sh and tests/sanitize.sh, from the project's root with $build set: runs suites and sums up what passed, failed and was
# skipped, over test cases.
python=$PWD/.venv/bin/python
passed=0 failed=0 skipped=0
log=$(mktemp) failures=$(mktemp)
beside=$(mktemp)
trap 'kill $(jobs -p) 2>/dev/null; rm -f "$log" "$failures" "$beside"' EXIT

# The number before `words` in the log's last line that has them; 0 when none does.
number_before() { grep -oE "[0-9]+ $1" "$log" | tail -n 1 | grep -oE '^[0-9]+' || echo 0; }
# The number after `words=`.
number_after() { grep -E '^(OK|FAILED)' "$log" | tail -n 1 | grep -oE "$1=[0-9]+" | head -n 1 | grep -oE '[0-9]+$' || echo 0; }

# What failed, of a log of Catch2, unittest or a script: names, places and the lines that say so.
name_failures() {
  awk '/^-----------------/ { getline name; getline below; if (below ~ /^-----------------/) print name }' "$log"
  grep -E '^(FAIL|ERROR): |: FAILED:?$|^(FAIL|FAILED|not ok)\b|: failed|: runtime error: ' "$log"
}

# count NAME STATUS PASSED FAILED SKIPPED: a suite that ends badly without naming a failed case counts as one failed.
count() {
  local name=$1 status=$2 ok=$3 bad=$4 skip=$5
  if ((status != 0 && bad == 0)); then bad=1; fi
  if ((status == 0 && ok + skip == 0)); then bad=1; echo "$name: no test ran"; fi
  if ((bad > 0)); then { echo "$name:"; name_failures | head -n 12 | sed 's/^/  /'; } >>"$failures"; fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  echo "== $name: $ok passed, $bad failed, $skip skipped"
}

# run_catch2 PROGRAM [ARGUMENT...]: the last argument also names the suite.
run_catch2() {
  "$build/$1" --use-colour no "${@:2}" 2>&1 | tee "$log"
  local status=${PIPESTATUS[0]}
  local ok bad skip
  if grep -qE '^All tests passed' "$log"; then
    ok=$(number_before 'test cases?\)') bad=0
  else
    local summary
    summary=$(grep -E '^test cases:' "$log" | tail -n 1)
    ok=$(grep -oE '[0-9]+ passed' <<<"$summary" | grep -oE '[0-9]+' || echo 0)
    bad=$(grep -oE '[0-9]+ failed' <<<"$summary" | head -n 1 | grep -oE '[0-9]+' || echo 0)
  fi
  # Catch2 2 counts a skipped case as passed (tests/skip.h).
  skip=$(number_before 'test cases skipped')
  count "C++ ($1${2:+ ${!#}})" "$status" "$((ok - skip))" "$bad" "$skip"
}

# unittests FOLDER, in a subshell, which becomes the suite, so that whoever ends the one ends the other.
unittests() {
  exec env PYTHONPATH="$PWD/python:$build${PYTHONPATH:+:$PYTHONPATH}" HONE_BUILD_DIR="$build" \
    "$python" -m unittest discover -s "$1" 2>&1
}

# count_unittests NAME STATUS, of the log
count_unittests() {
  local ran bad skip
  ran=$(grep -oE '^Ran [0-9]+ tests?' "$log" | tail -n 1 | grep -oE '[0-9]+' || echo 0)
  bad=$(($(number_after failures) + $(number_after errors) + $(number_after 'unexpected successes')))
  skip=$(number_after skipped)
  local ok=$((ran - bad - skip))
  count "$1" "$2" "$((ok > 0 ? ok : 0))" "$bad" "$skip"
}

# run_unittests NAME FOLDER
run_unittests() {
  unittests "$2" | tee "$log"
  count_unittests "$1" "${PIPESTATUS[0]}"
}

# begin_unittests FOLDER: beside what follows, since every suite keeps about one core busy; shown by finish_unittests NAME.
begin_unittests() {
  unittests "$1" >"$beside" &
  beside_pid=$!
}
finish_unittests() {
  wait "$beside_pid"
  local status=$?
  cat "$beside"
  cp "$beside" "$log"
  count_unittests "$1" "$status"
}

# run_script NAME COMMAND...: a script that ends with `N passed, N failed`, or is one test case itself.
run_script() {
  local name=$1
  shift
  HONE_BUILD_DIR=$build "$@" 2>&1 | tee "$log"
  local status=${PIPESTATUS[0]}
  if tail -n 1 "$log" | grep -qE '^[0-9]+ passed, [0-9]+ failed'; then
    count "$name" "$status" "$(number_before passed)" "$(number_before failed)" "$(number_before skipped)"
  else
    count "$name" "$status" "$((status == 0))" "$((status != 0))" 0
  fi
}

has() { compgen -G "$1" >/dev/null; }

# The last lines; the status is 0 only when something passed and nothing failed.
finish() {
  if ((failed > 0)); then cat "$failures"; fi
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0 && passed > 0))
}
