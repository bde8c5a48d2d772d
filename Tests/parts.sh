#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs targets of the Makefile, JOBS=3 at a time, each whatever has become of the others, and sums up
# what they have checked: a line of theirs begins with "ok - ", "not ok - " or "skipped - ", or is
# one of `swift test` about a test. What ran nothing and gave no reason has failed. What a part says
# is shown when it has ended.
# usage: parts.sh 'MAKE…' PART…
set -uo pipefail
export LC_ALL=C.UTF-8
read -ra make <<<"${1:?usage: parts.sh 'MAKE…' PART…}"
shift
jobs=${JOBS:-3} logs=.build/tests SECONDS=0
mkdir -p "$logs"
rm -f "$logs"/*.log

passed=0 failed=0 skipped=0 ended=0 parts=$# table='' reasons='' failures=''
# By process, which leads a session: a part, and when it began.
declare -A part_of=() began=()

# How little was free at worst: what has failed may have failed for that.
note_what_is_free() {
    local disk memory least_disk=999999999 least_memory=999999999
    while true; do
        disk=$(df -Pk "${TMPDIR:-/tmp}" . | awk 'NR > 1 { print int($4 / 1024) }' | sort -n | head -n 1)
        memory=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
        ((disk >= least_disk)) || least_disk=$disk
        ((memory >= least_memory)) || least_memory=$memory
        echo "$least_disk MB of disk and $least_memory MB of memory" >"$logs/free"
        sleep 2
    done
}
note_what_is_free &
notes=$!
# Whatever a test leaves, or one that is killed, is removed with it.
TMPDIR=$(mktemp -d -t sw.XXXXXX)
export TMPDIR
# Some tests run programs as other users.
chmod 1777 "$TMPDIR"
clean_up() {
    kill "$notes"
    chmod -R u+rwx "$TMPDIR" 2>/dev/null
    rm -rf "$TMPDIR"
}
trap clean_up EXIT

interrupted() {
    trap - INT TERM
    echo
    for process in "${!part_of[@]}"; do kill -TERM -- "-$process" 2>/dev/null; done
    [ "${#part_of[@]}" -eq 0 ] || wait "${!part_of[@]}"
    echo "interrupted; the output of each part is in $logs"
    exit 130
}
trap interrupted INT TERM

# lines PATTERN LOG: those that begin so, without the last of `swift test`, which sums up.
lines() { grep -aE "$1" "$2" | grep -avE '^(✔|✘) Test run with '; }
count() { lines "$@" | wc -l; }

# sum_up PART STATUS DURATION: shows what it has said, and counts it.
sum_up() {
    local part=$1 log=$logs/$1.log good bad left named line used
    ended=$((ended + 1))
    printf '\n== %s, part %s of %s ==\n' "$part" "$ended" "$parts"
    cat "$log"
    good=$(count '^(ok - |✔ Test .* passed after )' "$log")
    bad=$(count '^(not ok - |✘ Test .* failed after )' "$log")
    left=$(count '^(skipped - |➜ Test .* skipped)' "$log")
    reasons+=$(lines '^(skipped - |➜ Test .* skipped)' "$log" | sed "s/^/$part: /")$'\n'
    # What a failed check says of itself is indented, or about an expectation.
    named=$(awk -v part="$part: " '/^not ok - / { print part $0; left = 3; next }
        /^    / && left-- > 0 { print; next } { left = 0 }
        /^✘ Test / && !/^✘ Test run with / { print part $0 }' "$log" | cut -c1-400 | head -n 60)
    if [ "$bad" -eq 0 ] && [ "$2" -ne 0 ]; then
        bad=1
        # The status is make's; its last line has that of the tests, such as 141 for SIGPIPE.
        named="$part: it ended with status $2: $(grep -avE '^(make|processor time:)' "$log" |
            tail -n 1)"$'\n'"    $(grep -a '^make' "$log" | tail -n 1)"
    elif [ $((good + bad + left)) -eq 0 ]; then
        bad=1 named="$part: it checked nothing and gave no reason"
    fi
    failures+=${named:+$named$'\n'}
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
    used=$(awk '/^processor time: / { print $3 + $5 }' "$log")
    printf -v line '%-16s %7s %7s %8s %7s s %9s s\n' "$part" "$good" "$bad" "$left" "$3" "$used"
    table+=$line
}

# Waits until one part has ended.
end_one() {
    local process status
    wait -n -p process "${!part_of[@]}"
    status=$?
    sum_up "${part_of[$process]}" "$status" $((SECONDS - began[$process]))
    unset "part_of[$process]"
}

for part in "$@"; do
    [ "${#part_of[@]}" -lt "$jobs" ] || end_one
    echo "== $part begins =="
    # What a shell starts in the background ignores Ctrl-C, what nohup starts the end of its terminal;
    # and so would all that is tested.
    setsid env --default-signal bash -c 'TIMEFORMAT="processor time: %0U + %0S s"; time "$@"' - \
        "${make[@]}" --no-print-directory "$part" >"$logs/$part.log" 2>&1 </dev/null &
    part_of[$!]=$part began[$!]=$SECONDS
done
while [ "${#part_of[@]}" -gt 0 ]; do end_one; done

printf '\n%-16s %7s %7s %8s %9s %11s\n%s' part passed failed skipped time processor "$table"
grep . <<<"$reasons"
if [ "$failed" -gt 0 ]; then
    printf '\nFailed; all of the output is in %s, and %s were free at the least:\n%s' "$logs" \
        "$(cat "$logs/free")" "$failures"
fi
printf '\n%s passed, %s failed, %s skipped, in %s s\n' "$passed" "$failed" "$skipped" "$SECONDS"
[ "$failed" -eq 0 ]
