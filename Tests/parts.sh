#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs targets of the Makefile one after the other, each whatever has become of the one before, and
# sums up what they have checked: a line of theirs begins with "ok - ", "not ok - " or "skipped - ",
# or is one of `swift test` about a test. What ran nothing and gave no reason has failed.
# usage: parts.sh 'MAKE…' PART…
set -uo pipefail
export LC_ALL=C.UTF-8
read -ra make <<<"${1:?usage: parts.sh 'MAKE…' PART…}"
shift
logs=.build/tests
mkdir -p "$logs"
rm -f "$logs"/*.log
trap 'echo; echo "interrupted; the output of each part is in $logs"; exit 130' INT

passed=0 failed=0 skipped=0 table='' reasons='' failures=''

# lines PATTERN LOG: those that begin so, without the last of `swift test`, which sums up.
lines() { grep -aE "$1" "$2" | grep -avE '^(✔|✘) Test run with '; }
count() { lines "$@" | wc -l; }

number=0
for part in "$@"; do
    number=$((number + 1)) log=$logs/$part.log start=$SECONDS
    printf '\n== %s, part %s of %s ==\n' "$part" "$number" "$#"
    "${make[@]}" --no-print-directory "$part" 2>&1 </dev/null | tee "$log"
    status=${PIPESTATUS[0]}
    good=$(count '^(ok - |✔ Test .* passed after )' "$log")
    bad=$(count '^(not ok - |✘ Test .* failed after )' "$log")
    left=$(count '^(skipped - |➜ Test .* skipped)' "$log")
    reasons+=$(lines '^(skipped - |➜ Test .* skipped)' "$log" | sed "s/^/$part: /")$'\n'
    # What a failed check says of itself is indented, or about an expectation.
    named=$(awk -v part="$part: " '/^not ok - / { print part $0; left = 3; next }
        /^    / && left-- > 0 { print; next } { left = 0 }
        /^✘ Test / && !/^✘ Test run with / { print part $0 }' "$log" | cut -c1-400 | head -n 60)
    if [ "$bad" -eq 0 ] && [ "$status" -ne 0 ]; then
        bad=1
        named="$part: it ended with status $status: $(grep -av '^make' "$log" | tail -n 1)"
    elif [ $((good + bad + left)) -eq 0 ]; then
        bad=1 named="$part: it checked nothing and gave no reason"
    fi
    failures+=${named:+$named$'\n'}
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
    printf -v line '%-16s %7s %7s %8s %7s s\n' "$part" "$good" "$bad" "$left" $((SECONDS - start))
    table+=$line
done

printf '\n%-16s %7s %7s %8s %9s\n%s' part passed failed skipped time "$table"
grep . <<<"$reasons"
if [ "$failed" -gt 0 ]; then
    printf '\nFailed; all of the output is in %s:\n%s' "$logs" "$failures"
fi
printf '\n%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
