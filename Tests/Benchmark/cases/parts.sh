# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What a page of a long list costs the processor, by part: the whole from runs of its own, the
# shares from perf's samples of one more.

if ! command -v perf >/dev/null; then
    echo "parts is skipped: perf is not installed"
    return 0
fi

# parts SCHEME
parts() {
    local title="10,000 URLs of 1 KiB over $1, one process" whole
    compare "$title" 3 smallweb "${bulk[@]}" "@$scratch/$1"
    whole=$(measured "(.user_s + .system_s) * 1e6 / $count" smallweb)
    perf record -q -F 1999 -e cpu-clock -g -o "$scratch/samples" \
        "${bulk[@]}" "@$scratch/$1" >/dev/null
    perf script -i "$scratch/samples" -F ip,sym,dso 2>/dev/null \
        | python3 "$here/parts.py" "$whole" ${hash:+"$hash"} >"$scratch/parts"
    local name value
    while read -r name value; do
        figure "processor time of a page over $1" "$name" "$value" µs
        if [ "$1 $name" = "gopher hash" ]; then hash=$value; fi
    done <"$scratch/parts"
    awk -v scheme="$1" -v whole="$whole" '{ line = line sprintf("  %s %.1f", $1, $2) }
        END { printf "  µs of processor time per page over %s: %.1f =%s\n", scheme, whole, line }' \
        "$scratch/parts"
}
# TLS computes hashes, too: over Gemini and HTTP the body's costs what it costs over gopher.
hash=
list_gopher
parts gopher
list_gemini
parts gemini
start_nginx || return 0
list_http
parts http
