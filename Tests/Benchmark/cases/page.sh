# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What a page of a long list takes, with record and hash, and its processor time by part: the whole
# from the comparison, the shares from perf's samples of one more run.

# page SCHEME ROUNDS [-- NAME COMMAND…]…
page() {
    local list=("${bulk[@]}" "@$scratch/$1") whole name value
    compare "10,000 pages of 1 KiB over $1, 64 at a time" "$2" smallweb "${list[@]}" "${@:3}"
    whole=$(measured "(.user_s + .system_s) * 1e6 / $count" smallweb)
    if ! command -v perf >/dev/null; then
        echo "  the parts are skipped: perf is not installed"
        return 0
    fi
    # What is stripped has no names to tell the parts by.
    "${on_last[@]}" perf record -q -F 1999 -e cpu-clock -g -o "$scratch/samples" \
        "$scratch/built/smallweb" "${list[@]:1}" >/dev/null
    perf script -i "$scratch/samples" -F ip,sym,dso 2>/dev/null \
        | python3 "$here/parts.py" "$whole" ${hash:+"$hash"} >"$scratch/parts"
    while read -r name value; do
        figure "processor time of a page over $1" "$name" "$value" µs
        if [ "$1 $name" = "gopher hash" ]; then hash=$value; fi
    done <"$scratch/parts"
    awk -v scheme="$1" -v whole="$whole" '{ line = line sprintf("  %s %.1f", $1, $2) }
        END { printf "  µs of processor time per page over %s: %.1f =%s\n", scheme, whole, line }' \
        "$scratch/parts"
}

# Two at a time, the default for one host, wait for each page: how much more that takes here,
# compared with how much more it takes in C.
list_gopher
compare "10,000 pages over gopher, two at a time of one host" 5 \
    two-at-once "$smallweb" get -s --json -j 64 "@$scratch/gopher" \
    -- 64-at-once "${bulk[@]}" "@$scratch/gopher"
ours=$(measured .processor_ratio 64-at-once)
compare "10,000 pages over gopher, two at a time, by C" 5 \
    two-at-once "$scratch/bin/bulk-floor" 127.0.0.1 "$gopher" /1k "$count" 2 \
    -- 64-at-once "$scratch/bin/bulk-floor" 127.0.0.1 "$gopher" /1k "$count" 64
bar "politeness, to C's" "$(jq -n "$ours / $(measured .processor_ratio 64-at-once)")" 1.05

# The kernel divides time into user and system time by a clock of some milliseconds, hence 15
# rounds. TLS computes hashes, too: over Gemini and HTTP the body's costs what it costs over gopher.
hash=
page gopher 15 -- curl "${curl_bulk[@]}" -K "$scratch/curl-gopher" \
    -- epoll "$scratch/bin/bulk-floor" 127.0.0.1 "$gopher" /1k "$count" 64
bar "gopher: user, to curl" "$(measured .user_ratio curl)" 1.25
bar "gopher: both, to curl" "$(measured .processor_ratio curl)" 0.95
list_gemini
repeat /1k >"$scratch/paths"
spread=yes
page gemini 3 -- floor xargs -a "$scratch/paths" -P 8 -n 1 \
    "$floor-gemini" gemini 127.0.0.1 "$gemini"
spread=
start_nginx || return 0
list_http
page http 15 -- curl "${curl_bulk[@]}" -K "$scratch/curl-http"
bar "http: user, to curl" "$(measured .user_ratio curl)" 1.75
