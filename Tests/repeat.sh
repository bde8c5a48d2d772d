#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a command ten times while four busy loops run on the same two processors: what a test must
# stand that waits for a terminal, a race or a clock.
# usage: repeat.sh COMMAND…
# TIMES=10, LOOPS=4 and CPUS=0,1 can be changed. Output of what failed is shown, and the exit status
# is the number of failures, or 125 if a loop has been ended by others.
set -uo pipefail
export LC_ALL=C.UTF-8
[ $# -gt 0 ] || { echo 'usage: repeat.sh COMMAND…' >&2; exit 2; }
times=${TIMES:-10} loops=${LOOPS:-4} cpus=${CPUS:-0,1}

log=$(mktemp)
busy=()
trap 'kill "${busy[@]}" 2>/dev/null; wait "${busy[@]}" 2>/dev/null; rm -f "$log"' EXIT
taskset -pc "$cpus" $$ >/dev/null
for ((number = 0; number < loops; number++)); do
    while :; do :; done &
    busy+=($!)
done

failures=0
for ((number = 1; number <= times; number++)); do
    start=$SECONDS
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    kill -0 "${busy[@]}" || exit 125
    printf '%s of %s: status %s, %s s: %s\n' "$number" "$times" "$status" $((SECONDS - start)) "$*"
    [ "$status" -ne 0 ] || continue
    failures=$((failures + 1))
    grep -aE -A 6 '^(not ok - |✘ )' "$log" || tail -n 20 "$log"
done
printf '%s of %s passed with %s busy loops: %s\n' $((times - failures)) "$times" "$loops" "$*"
exit "$failures"
