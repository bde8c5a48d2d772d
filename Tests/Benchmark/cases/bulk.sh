# shellcheck shell=bash disable=SC2034,SC2154 # run.sh has them
# SPDX-License-Identifier: MIT
# Requests per second are the count divided by the time; curl has no gemini. The floor is a process
# per request, "epoll" the least that one process can do.
list_gopher
list_gemini
repeat /1k >"$scratch/paths"
compare "10000 URLs of 1 KiB over gopher, 64 at a time, as records" 5 \
    smallweb "${bulk[@]}" "@$scratch/gopher" \
    -- curl "${curl_bulk[@]}" -K "$scratch/curl-gopher" \
    -- epoll "$scratch/bulk-floor" 127.0.0.1 "$gopher" /1k "$count" 64 \
    -- floor xargs -a "$scratch/paths" -P 8 -n 1 \
    "$floor-gopher" gopher 127.0.0.1 "$gopher" | bounded
compare "10000 URLs of 1 KiB over gemini, 64 at a time, as records" 3 \
    smallweb "${bulk[@]}" "@$scratch/gemini" \
    -- floor xargs -a "$scratch/paths" -P 8 -n 1 \
    "$floor-gemini" gemini 127.0.0.1 "$gemini" | bounded
echo "  sessions resumed: $("${bulk[@]}" --fields tls --body none "@$scratch/gemini" \
    | grep -c '"resumed":true') of $count"
# No server bears a million requests: an unknown scheme measures the way in and out.
seq 1000000 | sed 's|^|nosuch://x/|' >"$scratch/million"
# shellcheck disable=SC2016 # the inner shell's
compare "1,000,000 lines of an unknown scheme, without bodies" 1 \
    smallweb sh -c '"$@"; [ $? -eq 1 ]' sh "${bulk[@]}" --body none "@$scratch/million" | bounded
for number in $(seq 1000); do
    echo "$gopher_url/0/gather/1000" >&4
    echo "$gemini_url/gather/1000" >&5
done 4>"$scratch/gather-gopher" 5>"$scratch/gather-gemini"
gathered=("$smallweb" get -s --json --body none -j 1000 --per-host 1000)
(
    ulimit -Sn 256
    compare "1,000 connections that are open at once, from a soft limit of 256 descriptors" 3 \
        smallweb "${gathered[@]}" "@$scratch/gather-gopher" | bounded 64
    compare "1,000 connections over gemini that are open at once" 3 \
        smallweb "${gathered[@]}" "@$scratch/gather-gemini" | bounded 128
    "${gathered[@]}" "@$scratch/gather-gopher" | tail -n 1 | grep -o '"requests":1000,"ok":1000' \
        | sed 's/^/  /'
)
