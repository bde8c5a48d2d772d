# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# What a page of a long list costs the processor: at the default politeness, and beside curl.

list_gopher
title="10,000 URLs of 1 KiB over gopher from one host, two at a time"
compare "$title" 5 smallweb "$smallweb" get -s --json -j 64 "@$scratch/gopher" \
    -- 64-at-once "${bulk[@]}" "@$scratch/gopher"
bar "$title: processor time" \
    "to --per-host 64" \
    "$(measured .processor_ratio 64-at-once)" 1.1
# Two at a time wait for each page; nothing that asks a server can do without.
compare "10,000 URLs of 1 KiB over gopher from one host, two at a time, by C" 5 \
    epoll "$scratch/bulk-floor" 127.0.0.1 "$gopher" /1k "$count" 2 \
    -- 64-at-once "$scratch/bulk-floor" 127.0.0.1 "$gopher" /1k "$count" 64
in_c=$(measured .processor_ratio 64-at-once)
figure "$title: processor time" "the same by C" "$in_c" ""
printf '  the same by C: %.3f\n' "$in_c"

# beside_curl SCHEME
beside_curl() {
    local title="10,000 URLs of 1 KiB over $1, with record and hash"
    # The kernel divides time into user and system time by a clock of some milliseconds.
    compare "$title" 15 smallweb "${bulk[@]}" "@$scratch/$1" \
        -- curl "${curl_bulk[@]}" -K "$scratch/curl-$1"
    local ratio ours theirs
    ratio=$(measured .user_ratio curl)
    ours=$(measured ".user_s * 1e6 / $count | round" smallweb)
    theirs=$(measured ".user_s * 1e6 / $count | round" curl)
    echo "  user time per page: smallweb $ours µs, curl $theirs µs"
    figure "$title: user time per page" smallweb "$ours" µs
    figure "$title: user time per page" curl "$theirs" µs
    bar "$title: user time" "to curl without" "$ratio" 1.5
}
beside_curl gopher
start_nginx || return 0
list_http
beside_curl http
