#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2034 # what the cases use
# Compares smallweb with curl, git and the least that C can do, over servers on this machine.
#
#     run.sh [--results DIRECTORY] SMALLWEB SMALLWEB-LOOPBACK [CASE…]
#
# Both are paths of release builds. A case is a file of cases/; without one all are run. The
# commands of a comparison take turns (see ratio.c), and where there are two processors the servers
# have the first and the commands the last. What was measured goes into results.json of the
# directory, docs/bench, and into its charts; cases that were not run keep there what they had.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
all=(start page html coprocess growth memory large split git history trust loops proxy program)
results=$here/../../docs/bench
if [ "${1:-}" = --results ] && [ $# -ge 2 ]; then
    results=$2
    shift 2
fi
if [ $# -lt 2 ]; then
    echo "usage: $0 [--results DIRECTORY] SMALLWEB SMALLWEB-LOOPBACK [CASE]..." >&2
    echo "cases: ${all[*]}" >&2
    exit 2
fi
built=$1
loopback=$2
shift 2
cases=("${@:-${all[@]}}")
for case in "${cases[@]}"; do
    if [[ $case == */* || ! -f $here/cases/$case.sh ]]; then
        echo "$0: no case is called $case" >&2
        exit 2
    fi
done
scratch=$(mktemp -d)
server=
nginx=
daemon=
proxies=()
cleanup() {
    exec 3>&- || true
    if [ -n "$server" ]; then wait "$server" 2>/dev/null || true; fi
    local process
    for process in $daemon ${proxies[@]+"${proxies[@]}"} $nginx; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap cleanup EXIT

mkdir "$scratch/built" "$scratch/bin"
compile() { ${CC:-cc} -O2 -Wall -Wextra "$@"; }
cp "$built" "$scratch/built/smallweb"
compile -DWITHOUT_TLS -o "$scratch/built/floor-gopher" "$here/floor.c"
compile -o "$scratch/built/floor-gemini" "$here/floor.c" -lssl -lcrypto
"${SWIFTC:-swiftc}" -O -static-stdlib -use-ld=lld -o "$scratch/built/floor-swift" \
    "$here/floor.swift"
for name in bulk-floor coprocess helper spawn; do
    compile -o "$scratch/built/$name" "$here/$name.c"
done
compile -o "$scratch/ratio" "$here/ratio.c"
smallweb=$scratch/bin/smallweb
floor=$scratch/bin/floor
figures=$scratch/figures

# Copies all that is measured, stripped as `make install` does it. A start takes longer by a fifth
# when the linker wrote the file than when it is a copy: its pages lie otherwise in memory.
copy_binaries() {
    local file
    for file in "$scratch/built"/*; do
        install -s "$file" "$scratch/stripped"
        cp --remove-destination "$scratch/stripped" "$scratch/bin/${file##*/}"
    done
}

# Where a process may be told its processor, and there are two, nothing moves while it is measured.
processors=$(taskset -cp $$ | sed 's/.*: //')
on_first=()
on_last=()
if [ "${processors%%[-,]*}" != "${processors##*[-,]}" ] \
    && taskset -c "${processors%%[-,]*}" true 2>/dev/null; then
    on_first=(taskset -c "${processors%%[-,]*}")
    on_last=(taskset -c "${processors##*[-,]}")
fi

# How it is run: whether what else the machine does can take the processor from us, and how much
# that is, ours included once a case has run. Priorities can be changed from outside meanwhile.
load() { cut -d ' ' -f 1 /proc/loadavg; }
priority() {
    case $(chrt -p $$ 2>/dev/null) in
        *SCHED_RR* | *SCHED_FIFO*) echo "real-time priority" ;;
        *) echo "ordinary priority" ;;
    esac
}

# The servers live as long as descriptor 3 is open.
mkfifo "$scratch/alive" "$scratch/ports"
"${on_first[@]}" "$loopback" --only gemini,gopher <"$scratch/alive" >"$scratch/ports" &
server=$!
exec 3>"$scratch/alive"
while read -r name _ port; do
    case $name in
        gemini) gemini=$port ;;
        gopher) gopher=$port ;;
        ready) break ;;
    esac
done <"$scratch/ports"

export SMALLWEB_KNOWN_HOSTS=$scratch/known_hosts
gemini_url=gemini://127.0.0.1:$gemini
gopher_url=gopher://127.0.0.1:$gopher
# Pins the key, and fills the caches.
copy_binaries
"$smallweb" get "$gemini_url/1k" >/dev/null
"$smallweb" get "$gopher_url/0/1k" >/dev/null

# compare TITLE ROUNDS NAME COMMAND… [-- NAME COMMAND…]…
# $watched is the process whose processor time counts, too. With $spread the commands may use all
# processors.
watched=
spread=
compare() {
    local place=("${on_last[@]}")
    [ -z "$spread" ] || place=()
    echo "$1"
    "${place[@]}" "$scratch/ratio" -j "$figures" -c "$case" -t "$1" ${watched:+-p "$watched"} \
        "${@:2}"
}

# measured MEMBER NAME: of a command of the last comparison.
measured() {
    jq -s "map(select(.commands)) | last | .commands[] | select(.name == \"$2\") | $1" "$figures"
}

# figure TITLE NAME VALUE UNIT [BAR]: adds to the results what was computed from comparisons.
figure() {
    jq -nc --arg case "$case" --arg title "$1" --arg name "$2" --argjson value "$3" \
        --arg unit "$4" --argjson bar "${5:-null}" '{$case, $title, $name, $value, $unit}
            + if $bar == null then {} else {$bar} end' >>"$figures"
}

# bar NAME VALUE BAR [UNIT]: adds a figure that must not be more, and prints whether it holds.
bar() {
    figure "what must hold" "$1" "$2" "${4:-}" "$3"
    awk -v name="$1" -v value="$2" -v bar="$3" -v unit="${4:-}" 'BEGIN {
        printf "  %s: %.3f %s, at most %s: %s\n", name, value, unit, bar,
            value <= bar ? "holds" : "is missed" }'
}

# shellcheck source=/dev/null
. "$here/../checks.sh" # eventually
# shellcheck source=/dev/null
. "$here/servers.sh"

run_case() {
    # shellcheck source=/dev/null
    . "$here/cases/$case.sh"
}

for case in "${cases[@]}"; do
    : >"$figures"
    before=$(priority)
    load_before=$(load)
    copy_binaries
    run_case
    after=$(priority)
    [ "$before" = "$after" ] || after="first $before, then $after"
    python3 "$here/results.py" "$results" "$figures" "$smallweb" \
        "$after, load $load_before before it and $(load) after"
done
python3 "$here/charts.py" "$results"
